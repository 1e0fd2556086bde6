/** Why something is not taken. */
export class Refused extends Error {
  /** The rule of store-corpus/v1 that it breaks, such as `row.signature`; `""` where a format has none. */
  readonly rule: string;
}

/** A text, or its UTF-8. It has to be exactly what was signed. */
export type Exact = string | Uint8Array;

export interface Key {
  purpose: "identity" | "log" | "git" | "webhook";
  /** 64 digits of lower-case hex. */
  public_key: string;
  /** RFC 7638 thumbprint. */
  kid: string;
  /** UTC date. */
  since: string;
  retired_on?: string;
}

/** The keys of one store. */
export class Keys {
  /** Reads `/.well-known/store-signing-key` or `keys/ring.json`; the caller answers for where it is from. */
  constructor(document: Exact);
  readonly current: readonly Key[];
  readonly retired: readonly Key[];
  /** Whether these go on from older ones by signed handovers alone. */
  continues(older: Keys): boolean;
}

export interface Artifact {
  /** `certificate`, or the class of a paper beside one. */
  class: string;
  id: string;
  date: string;
  public_key: string;
  /** Of the key, where it has been handed over since. */
  retired_on?: string;
  /** Of the signed bytes, hex. */
  sha256: string;
  /** What was signed, by name. */
  fields: Record<string, unknown>;
}

/** Where the public log counts a certificate. */
export interface Issued {
  observation: number;
  /** When that was signed: the certificate was there. */
  at: string;
  /** ISO week of the last deliveries in the tree. */
  through: string;
  index: number;
  log_size: number;
}

/** Checks all that is signed in an answer to a purchase, or of `/api/verify/{id}`. */
export function checkAnswer(answer: Exact, keys: Keys):
  { artifacts: [Artifact, ...Artifact[]]; issued?: Issued; delivery?: Delivery };

/** Which body answered which payment (/spec/delivery-receipt/v1). */
export interface Delivery {
  /** The whole sum settled, in atomic units of `decimals`. */
  amount: string;
  asset: string;
  decimals: number;
  network: string;
  payer: string;
  transaction: string;
  resourceUrl: string;
  contentType: string;
  /** Unix seconds. */
  issuedAt: number;
  settledAt: number;
  /** `0x` and the SHA-256 of the bytes. */
  responseHash: string;
  responseHashAlg: "sha256";
  responseHashEncoding: "raw";
  /** Of JSON, in the form of RFC 8785. */
  canonical?: { responseHash: string; responseHashAlg: "sha256"; responseHashEncoding: "jcs" };
  /** Where the log of the store shows the key. */
  keyLog?: { entrySha256: string; id: string; leaf: number; origin: string };
  kid: string;
  /** By which digest the body was found to be bound. */
  binds: "raw" | "jcs";
}

export interface Offer {
  amount: string;
  asset: string;
  network: string;
  payTo: string;
  resourceUrl: string;
  scheme: string;
  /** Unix seconds. */
  validUntil?: number;
  version: 1;
  kid: string;
}

export interface Receipt {
  /** Unix seconds. */
  issuedAt: number;
  network: string;
  payer: string;
  resourceUrl: string;
  transaction?: string;
  version: 1;
  kid: string;
}

/** Checks a signed offer, a compact JWS. With a host, its `did:web` has to be of that host. */
export function openOffer(compact: string, keys: Keys, host?: string): Offer;
/** Checks a signed receipt, as openOffer does an offer. */
export function openReceipt(compact: string, keys: Keys, host?: string): Receipt;
/** Checks a delivery receipt, and that it binds a body: a text that was bought, or a whole JSON answer. */
export function openDelivery(compact: string, keys: Keys, body: Exact, host?: string): Delivery;

export interface Checkpoint {
  origin: string;
  /** Leaves. */
  size: number;
  /** Hex. */
  root: string;
  /** How many signature lines of others stand under it; they are not checked. */
  cosigned: number;
}

/** Checks a checkpoint of the log (c2sp.org/tlog-checkpoint). */
export function openCheckpoint(note: Exact, keys: Keys): Checkpoint;
/** Checks that a leaf stands in the log (c2sp.org/tlog-proof); a proof that brings its leaf needs none. */
export function checkProof(proof: Exact, keys: Keys, leaf?: Exact): Checkpoint & { index: number; leaf: string };

/** What stands in an object of the record, by the names of /spec/store-corpus/v1. */
export type Members = Record<string, any>;

/** Checks an observation of the record. */
export function checkObservation(raw: Exact, keys: Keys): Members;
/** Checks the header of a round. */
export function checkRound(raw: Exact, keys: Keys): Members;
/** Checks a row, without its newline; with the header of its round also that it is of that one. */
export function checkRow(raw: Exact, keys: Keys, round?: Members): Members;
/** Checks a manifest; its files are not looked at. */
export function checkManifest(raw: Exact, keys: Keys): Members;
/** Checks all files of a folder, by their paths, against the manifest among them; gives how many it covers. */
export function checkTree(files: Map<string, Uint8Array>, keys: Keys, place?: string): number;
