// Checks the tag of a release against the version in package.json: node scripts/release-tag.mjs TAG [VERSION]
// Prints the npm dist-tag to publish under, as an output of a workflow's step.
import { readFileSync } from 'node:fs';

const [, , tag = '', version = ownVersion()] = process.argv;

if (!/^v\d+\.\d+\.\d+(-alpha\.\d+)?$/.test(tag)) fail(`${tag} is neither vX.Y.Z nor vX.Y.Z-alpha.N`);
else if (tag !== `v${version}`) fail(`the tag is ${tag}, but package.json says ${version}`);
else console.log(`dist-tag=${tag.includes('-alpha.') ? 'alpha' : 'latest'}`);

function ownVersion() {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}

function fail(reason) {
  console.error(reason);
  process.exitCode = 1;
}
