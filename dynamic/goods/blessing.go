package goods

import "store.example/agentstore/content"

// blessing gives a blessing that differs from the payer's last one.
var blessing = notTwice(Kind{
	Name:     content.KindBlessing,
	Delivers: text{},
	Make:     oneEntry,
})
