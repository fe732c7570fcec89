import { describeClient } from '../../support/client-specification.ts';
import { startServer } from '../../support/server.ts';

describeClient('our server', () => startServer());
