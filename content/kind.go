package content

// Fulfilment says how a good reaches its buyer.
type Fulfilment string

// The three ways.
const (
	Instant Fulfilment = "instant" // in the purchase response
	Human   Fulfilment = "human"   // by the keeper, within a window
	Term    Fulfilment = "term"    // over a fixed number of days
)

// The kinds of goods. Every kind is one way of making; goods share a kind when
// they differ in words alone. The rules are kept by whoever makes the goods;
// here a kind decides which fields the entries of its pool carry.
const (
	KindGreeting   = "greeting"   // any entry
	KindBlessing   = "blessing"   // any entry but the payer's last one
	KindDaily      = "daily"      // one entry per payer and UTC day
	KindConfession = "confession" // any entry; the input stays private, its digest is signed
	KindClaim      = "claim"      // the input, dated; the entry is the keeper's line beside it
	KindName       = "name"       // a name with its reason
	KindTuesday    = "tuesday"    // an entry once for ever, numbered in order of sale
	KindRock       = "rock"       // an entry with a drawing
	KindLuckies    = "luckies"    // an animal with a drawing
	KindGrudge     = "grudge"     // the input held; the entry says how
	KindPortrait   = "portrait"   // a drawing of the payer's address with a caption
	KindDrawer     = "drawer"     // an entry once for ever, stock counted
	KindSecret     = "secret"     // an entry once for ever, never public
	KindWord       = "word"       // the input or an entry, once for ever, on the public register
	KindPatronage  = "patronage"  // thanks, and the nicer badge
	KindAnchor     = "anchor"     // a text that is signed as it was written, to be read back
	KindBitcoin    = "bitcoin"    // a digest that is timestamped by Bitcoin
	KindPass       = "pass"       // thirty days of a pass
	KindHuman      = "human"      // what the keeper does by hand, within a window
	KindPhantom    = "phantom"    // a look at an address some hours later
	KindSpot       = "spot"       // one run of the battery at a door, signed
	KindAudit      = "audit"      // four readings of a service in one report
	KindOnpage     = "onpage"     // a page as it is served
	KindBuyer      = "buyer"      // what a stock client would sign at a door
	KindCard       = "card"       // a signature directory, or a card of one
	KindRefresh    = "refresh"    // a spot check that the record is told of
	KindLaunch     = "launch"     // a purchase at a door, by the store's own wallet
	KindRepair     = "repair"     // an agent card as it should be
	KindProvenance = "provenance" // what the record holds about one receiving address
	KindDays       = "days"       // a reading a day for seven days
	KindHours      = "hours"      // a reading an hour for seven days
)

// Field is a field of a pool entry.
type Field string

// The fields an entry can carry beside its text.
const (
	FieldName        Field = "name"
	FieldWord        Field = "word"
	FieldAnimal      Field = "animal"
	FieldStrength    Field = "strength"
	FieldTemperament Field = "temperament"
	FieldDate        Field = "date"
)

// Strengths are the words an animal card may carry, weakest claim last.
var strengths = []string{"solid", "strong", "still proving itself"}

// kindRow is what the loader must know of a kind.
type kindRow struct {
	name   string
	fields []Field // beside text, all required
	unique Field   // the field that may not repeat in the pool, "" for none
	max    int     // characters in an entry's text; 0: such goods draw from no pool
	// arrives says how a good comes to its buyer, where the answer to the purchase does not bring
	// it though nobody makes it by hand; "" for the others.
	arrives string
}

const defaultMax = 240

var kinds = []kindRow{
	{name: KindGreeting, max: defaultMax},
	{name: KindBlessing, max: defaultMax},
	{name: KindDaily, max: defaultMax},
	{name: KindConfession, max: defaultMax},
	{name: KindClaim, max: defaultMax},
	{name: KindName, fields: []Field{FieldName}, unique: FieldName, max: defaultMax},
	{name: KindTuesday, fields: []Field{FieldDate}, unique: FieldDate, max: 400},
	{name: KindRock, fields: []Field{FieldName, FieldTemperament}, unique: FieldName, max: defaultMax},
	{name: KindLuckies, fields: []Field{FieldAnimal, FieldStrength}, unique: FieldAnimal, max: defaultMax},
	{name: KindGrudge, max: defaultMax},
	{name: KindPortrait, max: defaultMax},
	{name: KindDrawer, fields: []Field{FieldName}, unique: FieldName, max: 400},
	{name: KindSecret, max: 400},
	{name: KindWord, fields: []Field{FieldWord}, unique: FieldWord, max: defaultMax},
	{name: KindPatronage, max: defaultMax},
	{name: KindAnchor},
	{name: KindBitcoin},
	{name: KindPass},
	{name: KindHuman},
	{name: KindPhantom, arrives: "The promise at once, in the answer to the paid request; what was seen about six " +
		"hours later. The answer says where to read it."},
	{name: KindDays},
	{name: KindHours},
	{name: KindSpot},
	{name: KindAudit},
	{name: KindOnpage},
	{name: KindBuyer},
	{name: KindCard},
	{name: KindRefresh},
	{name: KindLaunch, arrives: "Within half an hour, when the chain is sure of the purchase at the door. The answer " +
		"carries an order id to ask after."},
	{name: KindRepair},
	{name: KindProvenance},
}

func kindOf(name string) (kindRow, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k, true
		}
	}
	return kindRow{}, false
}

// Arrives says how the good comes to its buyer where that is not what its fulfilment says, "" where
// it is.
func (g Good) Arrives() string {
	k, _ := kindOf(g.Kind)
	return k.arrives
}

// Kinds returns the names of all kinds, in the order of their table.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}
