import { describeConformance } from './suite.ts';
import { targetFromEnvironment } from './target.ts';

describeConformance('the recorded conversations', targetFromEnvironment);
