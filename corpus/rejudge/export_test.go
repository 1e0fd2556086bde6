package rejudge

// What tests from outside see of the inside.

var OfferFrom = offerFrom
