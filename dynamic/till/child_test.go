package till_test

// childBase is the base URL of every child; where it listens is another matter and changes from
// child to child.
const childBase = "http://store.test"
