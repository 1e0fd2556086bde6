package goods

import "agentstore/content"

// greeting says hello.
var greeting = Kind{
	Name:    content.KindGreeting,
	Doc:     "any greeting from the pool",
	Reserve: anyEntry,
	Make:    oneEntry,
}
