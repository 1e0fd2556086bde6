package goods

import "agentstore/content"

// greeting says hello.
var greeting = Kind{
	Name:     content.KindGreeting,
	Doc:      "any greeting from the pool",
	Delivers: text{},
	Reserve:  anyEntry,
	Make:     oneEntry,
}
