export { ownFiles } from './code-files.ts';
export {
  isOwnCredential,
  isOwnVariable,
  ownClientTokens,
  ownCredential,
  ownCredentialDigest,
  takeCredential,
} from './credentials.ts';
export { SecretPaths, secretPaths } from './secret-paths.ts';
export { stateFolder, statePlace } from './state-folder.ts';
