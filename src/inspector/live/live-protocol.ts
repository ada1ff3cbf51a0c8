/** The live feed's name as a WebSocket subprotocol, for both of its ends. */
export const liveProtocol = 'orrery.inspect.v1';
