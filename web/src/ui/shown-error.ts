/** An error whose message is for people. Problem shows all others that the API does not describe as an unreachable server. */
export class ShownError extends Error {}
