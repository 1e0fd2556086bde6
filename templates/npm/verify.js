// What a store signs, checked without it. Every check throws Refused with the reason, and none asks
// a network: the keys are what the caller gives.
export { checkAnswer } from "./answer.js";
export { openDelivery, openOffer, openReceipt } from "./jws.js";
export { Keys } from "./keys.js";
export { checkProof, openCheckpoint } from "./note.js";
export { checkManifest, checkObservation, checkRound, checkRow, checkTree } from "./record.js";
export { Refused } from "./refused.js";
