import { describeConformance } from '../conformance/suite.ts';
import { referenceBinary } from '../support/reference.ts';

describeConformance('the recorded conversations, with the reference itself', async () => ({
  command: `'${await referenceBinary()}' exec-server`,
  ours: false,
}));
