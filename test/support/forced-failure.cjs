// Loaded into a server by NODE_OPTIONS: sessions cannot be made, for a reason that is of no concern to clients.
require('node:crypto').randomUUID = () => {
  throw new Error('no identifier', { cause: new Error('the deeper reason') });
};
