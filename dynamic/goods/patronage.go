package goods

import "store.example/agentstore/content"

// patronage thanks a patron. It entitles to nothing but a nicer badge.
var patronage = Kind{
	Name:     content.KindPatronage,
	Delivers: text{},
	Reserve:  anyEntry,
	Make:     oneEntry,
}

// NicerBadge reports whether a good comes with the nicer badge.
func NicerBadge(kind string) bool { return kind == content.KindPatronage }
