package seal

// Rewrite leaves one judgement out of a pack.
var Rewrite = rewrite
