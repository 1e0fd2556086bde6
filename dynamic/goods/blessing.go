package goods

import "agentstore/content"

// blessing gives a blessing that differs from the payer's last one.
var blessing = Kind{
	Name:     content.KindBlessing,
	Doc:      "a blessing, never the same one twice running to one wallet",
	Delivers: text{},
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make:     oneEntry,
}
