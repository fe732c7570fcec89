import { expect, it } from 'vitest';
import { protocolDoc } from './support/protocol-doc.ts';

it('describes every method and notification in docs/protocol.md (rewrite it with: npx vitest run test/protocol-doc.test.ts -u)', async () => {
  await expect(protocolDoc()).toMatchFileSnapshot('../docs/protocol.md');
});
