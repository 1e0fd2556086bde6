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
	KindFile       = "file"       // a file of the stock, the same for everybody or one a unit
	KindText       = "text"       // Markdown, with the order's inputs in it
	KindUpstream   = "upstream"   // the answer of an HTTP address to the order's inputs
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
	says   string  // what such a good is, a phrase
	fields []Field // beside text, all required
	unique Field   // the field that may not repeat in the pool, "" for none
	max    int     // characters in an entry's text; 0: such goods draw from no pool
	// least is how many entries a pool of the kind holds at least: MinEntries where no two buyers
	// may get the same, two where nobody may get the same twice running; 0 is one.
	least int
	// arrives says how a good comes to its buyer, where the answer to the purchase does not bring
	// it though nobody makes it by hand; "" for the others.
	arrives string
	// fulfilment, artifact, reads, signs and proves are what stands in a file that does not say;
	// "" is what stands in most (Key.Default).
	fulfilment           Fulfilment
	artifact             string
	reads, signs, proves string
	// bare goods may come without a certificate (ArtifactNone).
	bare bool
}

const defaultMax = 240

var kinds = []kindRow{
	{name: KindGreeting, says: "any entry of the pool", max: defaultMax},
	{name: KindBlessing, says: "any entry of the pool but the one its payer was given last", max: defaultMax, least: 2},
	{name: KindDaily, says: "one entry of the pool a payer and UTC day", max: defaultMax},
	{name: KindConfession, says: "the input is kept private and its digest signed; the entry is the answer",
		max: defaultMax},
	{name: KindClaim, says: "the input, dated and public; the entry is the keeper's line beside it", max: defaultMax},
	{name: KindName, says: "a name with its reason", fields: []Field{FieldName}, unique: FieldName, max: defaultMax,
		least: 2},
	{name: KindTuesday, says: "an entry once for ever, numbered in order of sale", fields: []Field{FieldDate},
		unique: FieldDate, max: 400, least: MinEntries},
	{name: KindRock, says: "an entry with a drawn rock", fields: []Field{FieldName, FieldTemperament},
		unique: FieldName, max: defaultMax, least: 2},
	{name: KindLuckies, says: "an animal with a drawing", fields: []Field{FieldAnimal, FieldStrength},
		unique: FieldAnimal, max: defaultMax, least: 2},
	{name: KindGrudge, says: "the input is held; the entry says how", max: defaultMax, least: 2},
	{name: KindPortrait, says: "a drawing of the paying wallet; the entry is its caption", max: defaultMax, least: 2},
	{name: KindDrawer, says: "an entry once for ever", fields: []Field{FieldName}, unique: FieldName, max: 400,
		least: MinEntries},
	{name: KindSecret, says: "an entry once for ever, on no certificate", max: 400, least: MinEntries},
	{name: KindWord, says: "the input or an entry, once for ever, on the public register",
		fields: []Field{FieldWord}, unique: FieldWord, max: defaultMax, least: MinEntries},
	{name: KindPatronage, says: "thanks, and the nicer badge", max: defaultMax},
	{name: KindAnchor, says: "a text that is signed as it was written, to be read back", artifact: "context_anchor"},
	{name: KindBitcoin, says: "a digest that is timestamped by Bitcoin", artifact: "bitcoin_anchor"},
	{name: KindPass, says: "thirty days of a pass"},
	{name: KindHuman, says: "what the keeper does by hand, within a window", fulfilment: Human},
	{name: KindPhantom, says: "a look at an address some hours later", reads: "The address that you name, later.",
		arrives: "The promise at once, in the answer to the paid request; what was seen about six " +
			"hours later. The answer says where to read it."},
	{name: KindDays, says: "a reading a day for seven days", fulfilment: Term, artifact: audited},
	{name: KindHours, says: "a reading an hour for seven days", fulfilment: Term, artifact: audited},
	{name: KindSpot, says: "one run of the battery at a door, signed", artifact: audited},
	{name: KindAudit, says: "four readings of a service in one report", artifact: audited},
	{name: KindOnpage, says: "a page as it is served", artifact: "onpage_audit"},
	{name: KindBuyer, says: "what a stock client would sign at a door", artifact: audited},
	{name: KindCard, says: "a signature directory, or a card of one", artifact: audited},
	{name: KindRefresh, says: "a spot check that the record is told of", artifact: audited},
	{name: KindLaunch, says: "a purchase at a door, by the store's own wallet", artifact: audited,
		arrives: "Within half an hour, when the chain is sure of the purchase at the door. The answer " +
			"carries an order id to ask after."},
	{name: KindRepair, says: "an agent card as it should be", artifact: audited},
	{name: KindProvenance, says: "what the record holds about one receiving address", artifact: "provenance_check"},
	{name: KindFile, says: "a file of the stock, the same for everybody, or of a folder one a buyer", bare: true,
		signs:  "A salted digest of the file, the date, your name if you gave one, and the facts of the payment.",
		proves: "That the file is fit for what you want it for. It proves which bytes you were sold, and when.",
		arrives: "The answer to the paid request says where the file is fetched, at once and as often as you like, " +
			"with the token that stands in it."},
	{name: KindText, says: "Markdown, with the order's inputs in it", bare: true,
		signs:  "A salted digest of the text, the date, your name if you gave one, and the facts of the payment.",
		proves: "That what the text says is so. It proves which words you were sold, and when."},
	{name: KindUpstream, says: "the answer of an HTTP address to the order's inputs", bare: true,
		reads:  "A service behind the store, which is asked with your inputs.",
		signs:  "A salted digest of the answer, the date, your name if you gave one, and the facts of the payment.",
		proves: "That the answer is right. It proves which bytes the service gave, and when."},
}

const audited = "service_audit"

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

// KindFacts are what is told of a kind of goods.
type KindFacts struct {
	Name, Says string
	// Least is how many entries its pool holds at least, 0 for kinds that draw from none; Fields
	// are what each entry has beside its text.
	Least  int
	Fields []Field
}

// KindTable tells of all kinds, in the order of their table.
func KindTable() []KindFacts {
	all := make([]KindFacts, len(kinds))
	for i, k := range kinds {
		all[i] = KindFacts{Name: k.name, Says: k.says, Fields: k.fields}
		if k.max > 0 {
			all[i].Least = max(k.least, 1)
		}
	}
	return all
}
