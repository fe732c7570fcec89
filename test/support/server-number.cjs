// Loaded into a server by NODE_OPTIONS: the server numbers that it draws ascend from FIRST_SERVER_NUMBER.
const crypto = require('node:crypto');

const SERVERS = 2 ** 22;
const { randomInt } = crypto;
let next = Number(process.env.FIRST_SERVER_NUMBER);
crypto.randomInt = (...bounds) => (bounds[0] === SERVERS ? next++ : randomInt(...bounds));
