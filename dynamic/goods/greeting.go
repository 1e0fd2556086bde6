package goods

import "store.example/agentstore/content"

// greeting says hello.
var greeting = Kind{
	Name:     content.KindGreeting,
	Delivers: text{},
	Reserve:  anyEntry,
	Make:     oneEntry,
}
