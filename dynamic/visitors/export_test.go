package visitors

// Unseen is unseen, for the fuzz target.
var Unseen = unseen
