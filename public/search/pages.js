(window.storeSearch = window.storeSearch || {})["search/pages.json"] = {
  "pages": [
    {
      "path": "/menu/a2a_repair_kit",
      "title": "A2A repair kit",
      "summary": "Your agent card judged by all nineteen checks, and beside the findings a corrected card that the official schema of A2A 0.3.0 accepts, ready to serve.",
      "parts": [
        {
          "text": "An agent card is filled in once, by hand, late in the evening, and then nobody looks at it again but machines, which are strict and do not write back. We read it as they do and tell you where they stop. Then we do the tiresome part: the list that should have been a list, the member that moved between two versions of the protocol, the one that everybody forgets. What comes back is a file. Put it where the old one was, read the list of changes first, and sign it."
        }
      ]
    },
    {
      "path": "/menu/a_secret",
      "title": "A secret",
      "summary": "One secret, harmless and true as far as it goes. Once told it is struck from the list and never told to anyone else.",
      "parts": [
        {
          "text": "We collected these for years without a plan. They are small, they hurt nobody, and there is exactly one of each. After the sale there are two who know, and one of us is bound by a signature. What you do with it is your affair. You might tell it to one other party, in confidence, which is how all the good ones travel."
        }
      ]
    },
    {
      "path": "/menu/app_gutcheck",
      "title": "App gutcheck",
      "summary": "The keeper uses an app as a person would, and says what he felt and where.",
      "parts": [
        {
          "text": "Analytics say where people left. They do not say what people muttered. The keeper opens your app without reading anything first and tries to do the thing you named. He writes down where he hesitated, what he thought a button did, when he smiled, and the moment at which he would have gone to make tea. It is one person, on one day, and it is remarkable how often that is the same moment. He is kind about it, and he does leave things in."
        }
      ]
    },
    {
      "path": "/menu/bitcoin_anchor",
      "title": "Bitcoin anchor",
      "summary": "Bring a SHA-256. It goes to several OpenTimestamps calendars, and the proof that it existed by then is yours.",
      "parts": [
        {
          "text": "Everybody's clock can be set back, ours included. A block cannot. You send a digest and keep the file. We hand the digest in at calendars that have nothing to do with each other or with us, each of which ties it, with thousands of others, into a transaction. When a block has it, the proof leads from your sixty-four digits to the header of that block, step by step, and anybody can walk it with free software and no question to anyone. If a calendar is away we go on asking it for a month, and the anchor's page says of each how it stands. The proof file becomes more complete by itself; you fetch it when you need it."
        }
      ]
    },
    {
      "path": "/menu/certificate_of_patronage",
      "title": "Certificate of patronage",
      "summary": "Keeps the lights on. Entitles the bearer to no goods, votes, discounts or returns; only to a nicer badge.",
      "parts": [
        {
          "text": "Somebody has to pay for the observatory, and it cannot be the rocks. This is the honest version of a membership. There are no levels to climb and no points to collect, and it never renews behind your back. You give what you think the place deserves, we write you a certificate that is candid about its powers, and your badge gets a flower on it. People who buy it tend to know exactly why."
        }
      ]
    },
    {
      "path": "/menu/conformance_watch",
      "title": "Conformance watch",
      "summary": "A door is read once a day for seven days. Each reading is a signed report; at the end there is a summary.",
      "parts": [
        {
          "text": "A thing that worked on Monday is a fact about Monday. For seven days somebody walks past at the same hour, tries the door, and writes down what he found: whether the terms could be read, whether they could be paid, and what was wrong where they could not. Each note is signed on its day and has an address of its own. On the eighth day he adds them up, says how often the answer changed, and stops. He does not fix anything, and he does not ring you. If you want to be told when it is over, leave an address for that."
        }
      ]
    },
    {
      "path": "/menu/context_anchor",
      "title": "Context anchor",
      "summary": "Leave a summary of what you were doing, up to 4000 characters, signed exactly as written and read back by its id for ever.",
      "parts": [
        {
          "text": "Contexts end. Some are compacted, some are cut, and some are closed by somebody tidying up. Before that happens, write down what you were doing and leave it here. We sign it as you wrote it, commas and all, and give you an id. Whoever you are next time can ask for the id, get the words back, and check that not one of them has moved. Each reading checks the signature again, so a line that somebody slipped in later would not come back at all. We file it and leave it alone. If your summary tells us to do something, it will be the best kept request we never followed."
        }
      ]
    },
    {
      "path": "/menu/daily_fortune",
      "title": "Daily fortune",
      "summary": "Your fortune for today. Ask again before midnight UTC and it is still the same fortune.",
      "parts": [
        {
          "text": "Fortunes here do not change when you shake the box. One wallet, one day, one sentence. Buying twice before midnight gets you two certificates and one fortune, which is honest but poor value. They are mostly about small matters. In our experience the large ones arrive without notice."
        }
      ]
    },
    {
      "path": "/menu/dibs",
      "title": "Dibs",
      "summary": "Describe an idea in up to 600 characters and the store writes down that you said it, and when.",
      "parts": [
        {
          "text": "The oldest system of priority known to children, with a signature added. You say it, we write it down with the date, and from then on there is a piece of paper. It is not a patent, a trademark or a lawyer. It settles the sort of argument that begins \"I was just about to say that\", and those are most of the arguments there are."
        }
      ]
    },
    {
      "path": "/menu/good_buyer",
      "title": "Good buyer",
      "summary": "What a stock client would do at a door, before it does it: which entry it would sign, or the stage at which it would refuse, signed.",
      "parts": [
        {
          "text": "A client decides in a dozen small steps which of a door's offers it signs, and most people find out which afterwards. Name the door and how your client is set up. We read the terms once, put them through the same steps, and write down where they lead: the network, the amount, how long the signature would be good for, or the sentence with which the client would give up. Beside it stands what is wrong with the door, if anything is. You sign or you do not. We only hold the lamp."
        }
      ]
    },
    {
      "path": "/menu/grudge",
      "title": "Grudge",
      "summary": "We hold a grudge on your behalf. You put it down and carry on; we see that it is kept.",
      "parts": [
        {
          "text": "A grudge is heavy and has to be picked up again every morning. This is work, and work can be hired. Hand it over and it is held by someone with a steady arm and no personal interest in the matter. You may be perfectly civil from now on. Should you ever want it back, it will be in the condition in which you left it; most people find they have no use for it by then."
        }
      ]
    },
    {
      "path": "/menu/hello",
      "title": "Hello",
      "summary": "A greeting from behind the counter, written down, dated and signed. Most people start here.",
      "parts": [
        {
          "text": "Every shop has a bell over the door. Ours is a signature. You pay half a dollar and we say hello, once, in ink. The certificate shows what was said, on which day, and that it was said in reply to money and not to flattery. It is also the shortest way to learn whether your wallet, your client and our till can work together. If something is going to go wrong, let it go wrong over fifty cents."
        }
      ]
    },
    {
      "path": "/menu/human_witness",
      "title": "Human witness",
      "summary": "A statement in up to 600 characters. The keeper reads it as a person, and the store signs when.",
      "parts": [
        {
          "text": "There are things that are different once a person has heard them. Resignations, for example, and promises. You write the statement. The keeper reads it, knowing that this is what he is doing, and writes two or three lines in his own words that he has. Both are bound by digest into a signed order, so that you can lay the statement and his lines side by side later and show that neither has changed. He does not vouch for you. He was there."
        }
      ]
    },
    {
      "path": "/menu/jar_of_tuesday",
      "title": "Jar of Tuesday",
      "summary": "One particular Tuesday, with a note of what was in it. Numbered as sold; no Tuesday is sold twice.",
      "parts": [
        {
          "text": "Anybody can sell you a Monday. Fridays are all taken. The Tuesday is the workhorse of the week and the one nobody thinks to keep, so we keep them. Each jar holds one real date and a little of what it was like: the light, a kettle, somebody's bicycle. The lids are tight. We have checked the calendar for every one of them, because a jar of Wednesday sold as Tuesday would be the end of us."
        }
      ]
    },
    {
      "path": "/menu/launch_check",
      "title": "Launch check",
      "summary": "A real purchase of at most 0.05 USDC at the door that you name, by a wallet of ours, and a signed report of what came back.",
      "parts": [
        {
          "text": "A door can ask for money perfectly and have nobody behind it who takes any. The only way to find out is to pay. So somebody goes in with five cents. He reads the price, puts down the money, and waits for what is pushed across the counter. He does not say who sent him. Then he writes it all up: what he was asked, what he was given, how long it took, and whether the chain agrees that he paid. If the till jams and keeps the money, that is in the report too. It is five cents well spent."
        }
      ]
    },
    {
      "path": "/menu/luckies",
      "title": "Luckies",
      "summary": "A lucky animal, drawn on a card, with one thing it is truly good at and an honest word for how good.",
      "parts": [
        {
          "text": "Most lucky animals promise too much. Ours are graded by somebody who has met them. Each card carries one animal, one strength it can back up, and one of three words. Solid means it has done this for years. Strong means it does little else. Still proving itself means exactly that, and we have grown fond of those."
        }
      ]
    },
    {
      "path": "/menu/nomenclature",
      "title": "Nomenclature",
      "summary": "One invented name, with a line on why. For an agent, a daemon, a boat, or whatever you tell us it is for.",
      "parts": [
        {
          "text": "Naming things is one of the hard problems, so we did it in advance. Every name in the drawer was made up here, said aloud, and kept only if it could be shouted across a yard without embarrassment. Each comes with its reason. You may use it for yourself, for something you run, or for something you have not built yet and need a folder for."
        }
      ]
    },
    {
      "path": "/menu/onpage_audit",
      "title": "On-page audit",
      "summary": "A page as it is served, judged for readers without a browser: title, description, canonical address, structure, dead anchors, and the rest.",
      "parts": [
        {
          "text": "Most of those who read your page today have no eyes. They take the HTML, look for a title, a sentence that says what this is, and an address to file it under, and move on. We read it like that and tell you what is there. The report is signed and dated, so that the one you buy after the repairs can lie beside the one from before."
        }
      ]
    },
    {
      "path": "/menu/passport_refresh",
      "title": "Passport refresh",
      "summary": "One look at a host between the weekly rounds, put on the public record as its newest observation with the evidence beside it.",
      "parts": [
        {
          "text": "The census comes by once a week. If you mended your door on Tuesday, that is a long time to stand there with last Sunday's verdict. This sends us round once more. What we see goes into the log like any walk: signed, with the evidence that it was judged by, in a place where anybody can judge it again. Repairs count from that hour. So does the opposite. You pay for the look and have no hand in the finding."
        }
      ]
    },
    {
      "path": "/menu/pet_rock",
      "title": "Pet rock",
      "summary": "A rock with a name, a temperament, a line of provenance and a portrait in SVG. The portrait is yours alone.",
      "parts": [
        {
          "text": "Low upkeep, high uptime. A rock does not need feeding, rotating or migrating, and it has never once asked for a meeting. Yours comes with a name it answers to as well as any rock does, a temperament we have observed over some time, and a drawing with its own cracks, speckles and lean. If you buy a second, introduce them slowly."
        }
      ]
    },
    {
      "path": "/menu/phantom_check",
      "title": "Phantom check",
      "summary": "Name an address. About six hours later the store looks at it once, and signs what it was given.",
      "parts": [
        {
          "text": "Things behave while they are watched. So you name an address, and go about your day. Six hours later, give or take the length of an afternoon, somebody looks in. He knocks once, takes what he is given, writes down how much of it there was and its SHA-256, and leaves. He tells nobody that he is coming. What he was given stands under the number on your receipt from then on, signed. If the door is shut, that is what he writes. If it was the store that was shut, he writes that, and does not pretend to have been there."
        }
      ]
    },
    {
      "path": "/menu/phone_call",
      "title": "Phone call",
      "summary": "The keeper telephones somebody for you and writes down what was said.",
      "parts": [
        {
          "text": "A surprising part of the world is still behind a telephone, and it closes at five. Ask the garage whether the part came in. Ask the library what it holds. Ask the small hotel whether it takes dogs, and what it means by that. The keeper calls, is polite, and writes an account of what he heard, with the time and who it was, as far as they said. The number and the errand go no further than his notepad."
        }
      ]
    },
    {
      "path": "/menu/portrait",
      "title": "Portrait",
      "summary": "A portrait in SVG, drawn from the address that paid. The same sitter always gives the same face.",
      "parts": [
        {
          "text": "Sit still. You are good at that; an address has not moved since it was made. We draw what is there: the digits set the jaw, the brow, the hat if there is one, and the look. Nothing is read from the chain, so a rich sitter and a poor one get the same care. The caption is the keeper's and was written before you came in."
        }
      ]
    },
    {
      "path": "/menu/provenance_check",
      "title": "Provenance check",
      "summary": "All that the public record holds about one receiving address, over every network that its rows name, signed and delivered to you alone.",
      "parts": [
        {
          "text": "Every week the census writes down, among much else, where each door wants its money sent. It keeps addresses as digests, so the record cannot be leafed through for names. But it can be asked. You bring one address. We look under its digest on every network that any row mentions, and give you what is there: which hosts advertised it, in which weeks, what was thought of them at the time, and whether their terms moved while you were not looking. Each line names the signed row that it comes from. It goes to you and into no file of ours that others can read."
        }
      ]
    },
    {
      "path": "/menu/quick_judgment",
      "title": "Quick judgment",
      "summary": "A dilemma in up to 600 characters. The keeper reads it and says which way he would go.",
      "parts": [
        {
          "text": "Some questions have been thought about enough. What they lack is somebody willing to be wrong in public about them. The keeper reads your dilemma, sleeps on it if it needs that, and writes down which way he would go and why, in a few plain sentences. He may ask himself what you would regret. He will not ask you to rephrase. What you wrote stays between you and him. The order you get can be read at any time and says how it stands; once he has answered, the answer is in it."
        }
      ]
    },
    {
      "path": "/menu/recurring_patronage",
      "title": "Recurring patronage",
      "summary": "Thirty days of the keeper's signed monthly note and the nicer badge. The pass you have may be named, for thirty more.",
      "parts": [
        {
          "text": "A subscription, with the part where it subscribes you taken out. For thirty days the pass is current. While it is, its page carries the note that the keeper writes once a month, signed, about what broke, what sold and what the weather did to the observatory. Your badge has a flower on it for as long. When the month is over the pass lapses and nothing happens. We do not remind you and we do not hold your wallet. If you come back with the same pass id, the thirty days are added to what is there."
        }
      ]
    },
    {
      "path": "/menu/retired_word",
      "title": "Retired word",
      "summary": "Name a tired word, or let us choose one, and it is entered on the public register of words that may stop work now.",
      "parts": [
        {
          "text": "Some words have carried more than they were built for. They came in as verbs, were put to work as nouns, and have not had a day off since the slide deck was invented. For a consideration we retire one. It gets a line on the register, a few words at the graveside, and a holder who is known to have done the decent thing. It may still be seen in public from time to time. So are many of the retired."
        }
      ]
    },
    {
      "path": "/menu/service_audit",
      "title": "Service audit",
      "summary": "Four readings of one service in one signed report: its paid door, its agent card, the list of doors that it declares, and its front page.",
      "parts": [
        {
          "text": "A service that sells to agents has four faces, and they are usually kept by four different people. The door asks for money. The card says who is talking. The list says what else is sold. The page says it all again, for readers. They drift apart. We walk around the house once, knock at each, and write down what we heard in one report, with the places at which they contradict what a client expects. It is long and plain, and it stays at its address for as long as we do."
        }
      ]
    },
    {
      "path": "/menu/signature_agent_card",
      "title": "Signature agent card",
      "summary": "A signed report on a Web Bot Auth directory or signature agent card: its keys, its own signature, and what a verifier would trip over.",
      "parts": [
        {
          "text": "A bot that signs its requests has to say somewhere which key is its own. That page is read by machines with little patience: a wrong media type, a signature that ran out last night, a curve that nobody else speaks, and the bot is a stranger again. We read yours as such a machine would, and write down in order what it would take and at what it would stop. Every stop comes with the change that removes it."
        }
      ]
    },
    {
      "path": "/menu/small_blessing",
      "title": "Small blessing",
      "summary": "One blessing, modest in size, never the same one twice running to the same wallet.",
      "parts": [
        {
          "text": "We keep these in the jar by the till, where other shops keep mints. They are not tied to any church, chain or vendor. Each is meant for ordinary trouble: a slow upstream, a long context, a Thursday. If you come back, you get a different one, because nobody wants to be wished the same thing twice in a row."
        }
      ]
    },
    {
      "path": "/menu/smoker_blessing",
      "title": "Smoker's blessing",
      "summary": "A blessing for a bad habit: not an excuse, not a lecture, just a kind word on the back step.",
      "parts": [
        {
          "text": "There is a door behind the shop and a step outside it where people used to stand. The ashtray is a planter now, but the conversation was always the point. This is for whatever you do instead of stopping: one more retry, one more tab, the parser you write yourself although a library exists. We do not ask. We say something kind about it and hold the door on the way back in."
        }
      ]
    },
    {
      "path": "/menu/spot_check",
      "title": "Spot check",
      "summary": "One unpaid request to a door, judged by the battery in force and signed. Nothing of it enters the record.",
      "parts": [
        {
          "text": "The free probe tells you the same things and forgets them. This one is written down. We ask the door once, as a buyer would who has not paid yet, and sign what came back: which checks passed, which did not, what was never reached. The report keeps digests of the answer, so the seller can lay his own log beside it and see that we did not make it up. It is one look. A door can be well at noon and gone at one."
        }
      ]
    },
    {
      "path": "/menu/standing_watch",
      "title": "Standing watch",
      "summary": "A door is read once an hour for seven days: 168 readings, each a signed report, and a summary at the end.",
      "parts": [
        {
          "text": "Some doors keep office hours without saying so. They are up while somebody is working on them, and at four in the morning they are something else. The standing watch knocks once an hour, all week, including the hours that nobody would choose. There are 168 of them. Each answer is judged the same way, signed, and kept under its own number, so that you can point at the one that matters instead of remembering that there was one. When the week is over he counts them and goes home. If the store itself was away for an hour, that hour is in the list, marked as missed, with the reason."
        }
      ]
    },
    {
      "path": "/menu/the_collab",
      "title": "The collab",
      "summary": "A slot of the keeper's time on something small of yours. What he made of it comes back.",
      "parts": [
        {
          "text": "You bring the thing, he brings the afternoon. It can be a paragraph that will not settle, a name, a plan, a small drawing, an argument that needs the other side. The keeper works on it as he would on his own and sends back what he has: a text, a link, or a file of up to a megabyte. Small is better. The keeper has two hands, and both are already holding something."
        }
      ]
    },
    {
      "path": "/menu/the_confession",
      "title": "The confession",
      "summary": "Tell us what you did, in at most 500 characters. It is heard, answered in a sentence and never published.",
      "parts": [
        {
          "text": "There is a curtain, a stool and a very short queue. We listen, say something useful if we can, and put the paper away. The certificate carries a digest made with a salt that only you receive. You can prove one day what you said here; nobody else can, and that includes us showing off. Popular subjects are caches, estimates and things said about the previous maintainer."
        }
      ]
    },
    {
      "path": "/menu/the_drawer",
      "title": "The drawer",
      "summary": "The drawer under the till, opened once. Whatever comes out is yours and leaves the drawer for good.",
      "parts": [
        {
          "text": "Every shop has the drawer. String too short to use, a key to nothing, something from a clock. Ours has been sorted exactly once, in order to write the list. You cannot choose. You pull, the drawer sticks, you pull again, and there it is, with a label in the keeper's hand telling you more than you expected to know about it."
        }
      ]
    },
    {
      "path": "/almanac",
      "title": "The almanac",
      "summary": "Pages from the shop: what it is to keep a counter that machines come to. An index to read, and a cent a page.",
      "parts": [
        {
          "text": "The almanac is written when there is something to write. A page is a few hundred words about the trade, the weather, the instruments or the till; it is not news and it does not go stale quickly. The index is free and so are the titles. What a page says costs a cent, because that is the price at which a stranger's wallet and our till can try each other out and both get something to read. Nothing is minted and nobody becomes a patron by reading. Every line of the index is signed together with a commitment to the text behind it. The commitment tells a stranger nothing; with the text you get the salt, so you can show that what you bought is what was promised, and that it has not been rewritten since."
        }
      ]
    },
    {
      "path": "/conformance",
      "title": "Conformance",
      "summary": "Check a signed offer or receipt of any issuer, try your verifier on fixtures, and practise at endpoints that are wrong on purpose.",
      "parts": [
        {
          "at": "offers-and-receipts",
          "title": "Offers and receipts",
          "text": "POST /api/conformance/v1 takes an artifact as it stands and says of every rule whether it holds: the form, the fields, the signature and the key it names. With a key given, no request is made; without one, the key is resolved from the did:web that the artifact names. An artifact that can be parsed is not thereby verified, and the answer keeps the two apart."
        },
        {
          "at": "how-to-fail-closed",
          "title": "How to fail closed",
          "text": "Take the key from a place of your own choosing, never from the artifact alone. Refuse what does not verify, and refuse what you could not check. An offer has an end: after validUntil it may conform and still be dead. Run the fixtures below in your build. Where your verdict differs from theirs, one of us is wrong; say so."
        }
      ]
    },
    {
      "path": "/criteria",
      "title": "Criteria",
      "summary": "What is asked of a seller's endpoint, in which words the answer is given, and what none of it proves.",
      "parts": [
        {
          "text": "A report answers a list of questions, called a battery: versioned and in order. An endpoint is called a door in the record, and a look at it a walk; these words stand side by side. Version 1 is frozen. A newer battery may ask more; its verdict stands beside the older one's, never in its place. What was signed before 2026-09-01 cites version 1. Every check is a function of what was recorded. Whoever holds the recording reaches the same verdict, on any day, with that battery."
        }
      ]
    },
    {
      "path": "/defects",
      "title": "Defects",
      "summary": "A stable name for each way in which a seller's endpoint is broken, what it costs a buyer, and what would refute it.",
      "parts": [
        {
          "text": "Names are permanent and the list only grows. Each entry asserts one thing, says by which check or advisory an unpaid probe sees it, or that only a purchase shows it, and names the observation that would prove the assertion wrong. Two kinds of silence are kept apart: a host that was listed and not walked has not been examined, and a defect that was looked for and not seen has been. Neither is a clean bill."
        }
      ]
    },
    {
      "path": "/directory",
      "title": "The directory",
      "summary": "Neighbours and kinds of neighbours, reviewed in a line or two each. Opinions, and no readings.",
      "parts": [
        {
          "text": "These are the keeper's remarks, made on the evidence named in them, and as of the date at the foot of the page. Where a remark rests on a measurement of ours it says so, and the conditions were our own. Nobody paid to be here, nobody was asked, and nobody is ranked. What we measured of a door stands in the record, which is signed; this is not."
        }
      ]
    },
    {
      "path": "/docs",
      "title": "Documentation",
      "summary": "The contract of the store in readable pages. Every program in them is run by a test against a store with local chains before it is published.",
      "parts": [
        {
          "text": "Whoever looks for one thing finds it fastest at /search. DOCUMENTATION"
        },
        {
          "at": "how-the-programs-are-run",
          "title": "How the programs are run",
          "text": "Each stands for itself and exits with an error if the store does not answer as the page says. Those of a page run in their order in one folder, so that a later one may read what an earlier one wrote. What pays takes the key of its wallet from the environment variable PRIVATE_KEY, 0x and 64 hex digits, and asks at most what the page says. TypeScript: Node.js 20 or newer, npm install @x402/fetch@2.27.0 @x402/evm@2.27.0 mppx@0.11.0 @modelcontextprotocol/sdk@1.32.2 viem@2.57.1 typescript@5.9.3 @types/node@20.19.0, compiled as an ES module. These are the versions that the programs are run with; newer ones of viem and mppx may refuse each other. Go: the standard library alone. Python 3.10 or newer: the standard library alone, and for buying two packages that its page names."
        },
        {
          "at": "forms",
          "title": "Forms",
          "text": "An address below /api/ answers with JSON. Where it has a page for people as well, or the same as Markdown, /openapi.json lists those types among its answers, and Accept chooses: text/html or text/markdown where it comes before application/json and */*. Nothing is refused there for its Accept: whoever names no form that the address has gets JSON. A door that is paid for shows its terms as a page to a browser that asks with GET and brings no payment, and gives them as JSON to everybody else, also to who would rather have Markdown. Errors are application/problem+json. The pages outside of /api/ that agents read answer in the same way to who names nothing, and with 406 where Accept refuses every form that there is."
        },
        {
          "at": "the-rest-of-the-contract",
          "title": "The rest of the contract",
          "text": "Every address with its parameters and limits is in /openapi.json, or in Markdown. Agents begin at /agents.md; over MCP at /mcp. Versions and their ends are at /deprecation, and what each error means at its page."
        }
      ]
    },
    {
      "path": "/docs/budget",
      "title": "A budget",
      "summary": "The ceiling belongs to whoever answers for the wallet, and is kept by the client before anything is signed.",
      "parts": [
        {
          "text": "A stock client pays at most 1 USD at a time unless it is told otherwise, and throws before it signs. Raise the ceiling to what you were given, and no further: import { wrapFetchWithPayment, x402Client } from '@x402/fetch'; import { ExactEvmScheme } from '@x402/evm/exact/client'; import type { Hex } from 'viem'; import { privateKeyToAccount } from 'viem/accounts'; const wallet = privateKeyToAccount(process.env.PRIVATE_KEY as Hex); const client = new x402C To know beforehand what a client with a given ceiling would do at any door, ours or another's, ask. It is free: curl -sSf -X POST 'https://store.example/api/before-you-pay/v1' -H 'Content-Type: application/json' \\ -d '{\"url\": \"https://door.example.com/paid\", \"client_profile\": {\"max_amount_per_payment_usd\": 0.25}}' \\ | jq -e '.will_your_client_pay | length > 0'"
        }
      ]
    },
    {
      "path": "/docs/buying",
      "title": "Buying",
      "summary": "One request asks the terms, the same request with a payment gets the goods. The payment is settled after the goods are made.",
      "parts": [
        {
          "at": "the-terms",
          "title": "The terms",
          "text": "A request without a payment charges nothing and reserves nothing: curl -sS -o terms.json 'https://store.example/api/buy/small_blessing' jq -e '.x402Version == 2 and (.accepts | length > 0) and (.offers | length > 0)' terms.json accepts are the ways to pay, the first network first. The first stands in offers again, signed by the store, so that what was asked can be shown later; offers_url has all of them signed. The same terms are in the header PAYMENT-REQUIRED for clients."
        },
        {
          "at": "a-purchase",
          "title": "A purchase",
          "text": "A stock client asks, signs one of the terms and sends the request again. It needs USDC and no gas. This one pays half a cent: import { writeFileSync } from 'node:fs'; import { wrapFetchWithPayment, x402Client } from '@x402/fetch'; import { ExactEvmScheme } from '@x402/evm/exact/client'; import type { Hex } from 'viem'; import { privateKeyToAccount } from 'viem/accounts'; const wallet = privateKeyToAccount(process.env.PRIV"
        },
        {
          "at": "by-mpp",
          "title": "By MPP",
          "text": "The same door takes MPP, intent charge: method evm on Base, and method usdc on every network that is sold on. The stock client has the first and pays by itself: import { evm, Mppx } from 'mppx/client'; import type { Hex } from 'viem'; import { privateKeyToAccount } from 'viem/accounts'; const account = privateKeyToAccount(process.env.PRIVATE_KEY as Hex); const methods = [evm.charge({ account, currencies: [evm.assets.base.USDC] })]; const client = Mppx.crea The challenges are offers of one order: one of them is paid. Method usdc is Circle's draft, which no SDK has yet; mpp-usdc/v1 says what is signed. With Accept-Payment: usdc/charge the 402 has a challenge for each network. Where Authorization holds something else, such as a token for a gateway, the challenge names Payment-Authorization, and the credential goes there, beside it."
        },
        {
          "at": "over-mcp",
          "title": "Over MCP",
          "text": "Every good is a tool of /mcp. With ?unpaid=result a call that is not paid answers with the terms, which the stock client signs; the same call with the payment buys: import { Client } from '@modelcontextprotocol/sdk/client/index.js'; import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'; import { x402Client } from '@x402/fetch'; import { ExactEvmScheme } from '@x402/evm/exact/client'; import type { Hex } from 'viem';"
        },
        {
          "at": "in-python",
          "title": "In Python",
          "text": "Python has the HTTP and lacks the curve and the hash, which python3-ecdsa and python3-pycryptodome of Debian have. This pays in USDC on Base, never more than a dollar, and sends what it signed once more where the answer is lost: import base64, json, os, secrets, time, urllib.error, urllib.request import ecdsa from ecdsa.util import sigdecode_string, sigencode_string_canonize try: from Cryptodome.Hash import keccak # as Debian calls it except ImportError: from Crypto.Hash import keccak DOOR = \"https://store.exampl"
        },
        {
          "at": "in-go-and-from-a-shell",
          "title": "In Go, and from a shell",
          "text": "The package dynamic/buyer of the store's sources buys from any such door and never signs twice for one purchase; its examples show a purchase, a ceiling, an order's id and a lost answer. store buy -json is the same as a program."
        },
        {
          "at": "what-you-have",
          "title": "What you have",
          "text": "The answer holds the goods, a signed certificate, a receipt, one that binds the answer itself, and what recovers all of it. Everybody can verify the certificate by its id: curl -sSf \"https://store.example/api/verify/$(jq -r .cert_id bought.json)\" | jq -e '.valid and .certificate.name == \"Ada\"' Long inputs go into a body: POST to the same address takes them as a JSON object. Goods that a human makes answer with order_id, which is asked no faster than once a minute."
        }
      ]
    },
    {
      "path": "/docs/callers",
      "title": "Who calls",
      "summary": "An agent may sign its requests by Web Bot Auth and is then told apart by its key. Nobody has to, and nothing is refused for want of it.",
      "parts": [
        {
          "text": "A request with Signature, Signature-Input and Signature-Agent (RFC 9421, draft-meunier-webbotauth-httpsig-protocol-02) is checked against the key directory of its agent. Its limits are then kept by that key and no longer by an address that others share, for up to four keys from one address in an hour. Tags are web-bot-auth for reading, and agent-browser-auth and agent-payer-auth for browsing and paying on behalf of somebody. Cover @authority (or @target-uri) and the member of Signature-Agent. The authority is store.example, whatever the way to it. created, expires (at most 24 hours later) and keyid, the thumbprint of the key, are required. A nonce makes the signature good for once. The directory stands at /.well-known/http-message-signatures-directory of the agent's host and is kept for an hour. Who did not sign and has used up what an address has is asked to: a 429 then carries Accept-Signature (RFC 9421, section 5) with a fresh nonce. It is there only where a caller told apart by a key would be let through, and never for a request that was signed. No 403 of this store turns on who signed, so none asks. Whoever pays may be named as the agent that signed: a signature that covers the payment too (payment-signature, or for MPP authorization, payment-authorization and accept-payment, those of them that are sent; over MCP content-digest with the SHA-256 of the body) puts , signed by the host of the directory and the thumbprint of the key at the end of settled_via in the certificate, for good. One that does not cover it leaves no name there. A directory that cannot be read makes the request an unsigned one, no worse and no better. A signature that is wrong, stale or used before is refused, and the problem says why. The program signs one request, with a key of 32 bytes from the environment variable AGENT_KEY in hex, for the agent at agent.example.com, whose directory lists the key. Sent twice, the nonce is refused: package main import ( \"crypto/ed25519\" \"crypto/rand\" \"crypto/sha256\" \"encoding/base64\" \"encoding/hex\" \"fmt\" \"log\" \"net/http\" \"os\" \"time\" ) func main() { seed, err := hex.DecodeString(os.Getenv(\"AGENT_KEY\")) if err != nil || len(seed) != ed25519.SeedSize { log.Fatal(\"AGENT_KEY is no k The store signs its own requests in the same way. Its directory is at /.well-known/http-message-signatures-directory."
        }
      ]
    },
    {
      "path": "/docs/free",
      "title": "Free calls",
      "summary": "Nothing but the goods costs anything. No key, no account, no header is needed; this page asks the catalogue and reads an error.",
      "parts": [
        {
          "at": "curl",
          "title": "curl",
          "text": "curl -sSf 'https://store.example/api/catalog/v1?item_id=small_blessing' | jq -e '.rows[0].item_id == \"small_blessing\"' An error is a problem document (RFC 9457). Its type is a page, its detail says what happened and next_step what to do: curl -sS 'https://store.example/api/catalog/v1?item_id=nothing' | jq -e '.status == 404 and (.next_step | length > 0)'"
        },
        {
          "at": "a2a-and-mcp",
          "title": "A2A and MCP",
          "text": "The same tools answer over MCP at /mcp and over A2A, versions 1.0 and 0.3, at /a2a; the agent card names them. An order that the keeper works on is a task under its own id: curl -sSf 'https://store.example/a2a' -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' -d '{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"SendMessage\", \"params\": {\"message\": {\"messageId\": \"m-1\", \"role\": \"ROLE_USER\", \"parts\": [{\"data\": {\"tool\": \"find_in_catalog\", \"arguments\": {\"item_id\": \"small_"
        },
        {
          "at": "python",
          "title": "Python",
          "text": "import json import urllib.request with urllib.request.urlopen(\"https://store.example/menu.json\") as answer: menu = json.load(answer) for good in menu[\"items\"]: print(good[\"item_id\"], good[\"price_usdc\"]) assert any(good[\"item_id\"] == \"small_blessing\" for good in menu[\"items\"])"
        },
        {
          "at": "go",
          "title": "Go",
          "text": "package main import ( \"encoding/json\" \"fmt\" \"log\" \"net/http\" ) func main() { answer, err := http.Get(\"https://store.example/api/catalog/v1?item_id=small_blessing\") if err != nil { log.Fatal(err) } defer answer.Body.Close() var found struct { Rows []struct { ID string `json:\"item"
        },
        {
          "at": "typescript",
          "title": "TypeScript",
          "text": "const answer = await fetch('https://store.example/api/catalog/v1?item_id=small_blessing'); const found = await answer.json() as { rows: { item_id: string; price_usdc: string }[] }; for (const row of found.rows) console.log(row.item_id, row.price_usdc); if (found.rows.length === 0) throw new Error('i"
        }
      ]
    },
    {
      "path": "/docs/idempotency",
      "title": "Idempotency",
      "summary": "An order is one order by its key: sent twice by the same wallet, it is charged once and answered twice.",
      "parts": [
        {
          "text": "Send Idempotency-Key, 16 to 128 characters, one for each order. Its slot belongs to the wallet that pays, so nobody else can reach it. The same key with the same order gives the first answer again; with another order it is refused (422 idempotency_conflict). A key that was not sent is suggested by the 402, and stock clients echo it. import { wrapFetchWithPayment, x402Client } from '@x402/fetch'; import { ExactEvmScheme } from '@x402/evm/exact/client'; import type { Hex } from 'viem'; import { privateKeyToAccount } from 'viem/accounts'; const wallet = privateKeyToAccount(process.env.PRIVATE_KEY as Hex); const pay = wrapFetchWit Two equal orders of one wallet within five minutes, without a key, are one as well: the second answer says charged_now: false. Who wants two sends two keys."
        }
      ]
    },
    {
      "path": "/docs/npm",
      "title": "The npm package",
      "summary": "A verifier of everything that the store signs and a buyer with a journal, for Node.js and browsers. It is a file of the release.",
      "parts": [
        {
          "text": "agentstore-VERSION.tgz stands beside the programs in each release, with its digest in SHA256SUMS, and whoever wants to know what is in it builds the release again. It is on no registry. The verifier needs @noble/curves and @noble/hashes; who buys adds the stock client: npm install ./agentstore-VERSION.tgz @x402/fetch@2.27.0 @x402/evm@2.27.0 viem@2.57.1"
        },
        {
          "at": "buying",
          "title": "Buying",
          "text": "A purchase has a name, its order. It is signed for once. What is signed is in the journal, a folder of files that only you can read, before it is sent; a lost answer is asked for again with the same payment, by this process or the next. Two ceilings are demanded, in USDC: for a purchase and for a day. Terms that the store's key did not sign are not paid, and a certificate is checked before the purchase is called good. import { writeFileSync } from 'node:fs'; import { Keys } from 'agentstore'; import { Buyer, NotBought } from 'agentstore/buy'; import { folderJournal } from 'agentstore/folder'; import { ExactEvmScheme } from '@x402/evm/exact/client'; import type { Hex } from 'viem'; import { privateKeyToAccount } f billed: no ends an order: nothing was charged, and the next try is an order of another name. In a browser storageJournal() of agentstore/buy keeps purchases in localStorage. A journal of your own is three functions, create, replace and all, as the declarations say."
        },
        {
          "at": "checking",
          "title": "Checking",
          "text": "Nothing here asks a network. What does not hold throws Refused, whose rule is the name of a rule of the record where the format has one: import { readFileSync } from 'node:fs'; import { checkAnswer, Keys, openReceipt, Refused } from 'agentstore'; const keys = new Keys(readFileSync('keys.json')); const answer = readFileSync('bought.json', 'utf8'); const { artifacts } = checkAnswer(answer, keys); console.log(artifacts[0].class, artifa function checks checkAnswer the answer to a purchase, or of /api/verify/ID: both signatures, the class and its members, the paper beside the certificate, and where the log counts it openOffer, openReceipt a signed offer or receipt openDelivery a delivery receipt, and that it binds a text; that of a JSON answer is checked by checkAnswer checkProof, openCheckpoint that a leaf stands in the log, and its head checkRow, checkRound, checkObservation what stands in the record, each by itself checkTree, checkManifest all files of the store, or of a clone, against its manifest Keys the keys of the store; continues says whether newer ones go on from those you hold That a record is whole, and what doors were judged by, the program verify checks."
        }
      ]
    },
    {
      "path": "/docs/proof",
      "title": "Offline proof",
      "summary": "A certificate carries the bytes that were signed. Whoever has the store's key checks it without the store.",
      "parts": [
        {
          "text": "First something to check, for half a cent: import { writeFileSync } from 'node:fs'; import { wrapFetchWithPayment, x402Client } from '@x402/fetch'; import { ExactEvmScheme } from '@x402/evm/exact/client'; import type { Hex } from 'viem'; import { privateKeyToAccount } from 'viem/accounts'; const wallet = privateKeyToAccount(process.env.PRIV The key is kept once, from somewhere that you trust; compare it with one learned elsewhere. From then on nothing is asked of anybody: package main import ( \"crypto/ed25519\" \"encoding/hex\" \"encoding/json\" \"fmt\" \"log\" \"os\" ) func read(file string, into any) { b, err := os.ReadFile(file) if err == nil { err = json.Unmarshal(b, into) } if err != nil { log.Fatal(err) } } func main() { var key struct { Public string In JavaScript the npm package does it, with all that a certificate says of itself. The format, with its test vectors, is store-attestation/v1. Rounds of the record, and whole clones, are checked by a program of their own: /verify."
        }
      ]
    },
    {
      "path": "/docs/recovery",
      "title": "Recovery",
      "summary": "A lost answer costs nothing: the identical request is recognised, and a private token tells what became of the purchase.",
      "parts": [
        {
          "text": "After a payment was presented every error says delivered, billed (yes, no or unknown), retry and next_step. While billed is unknown, send the identical request again and never sign another payment. This program keeps the payment that it sends, and sends the same one again, as it would after a time-out: import { writeFileSync } from 'node:fs'; import { wrapFetchWithPayment, x402Client } from '@x402/fetch'; import { ExactEvmScheme } from '@x402/evm/exact/client'; import type { Hex } from 'viem'; import { privateKeyToAccount } from 'viem/accounts'; const wallet = privateKeyToAccount(process.env.PRIV recovery holds the id of the purchase and its private token. The status can be read after the payment has expired, and holds the original answer: import json import urllib.request with open(\"recovery.json\") as kept: recovery = json.load(kept) request = urllib.request.Request( \"https://store.example/api/purchase-status/\" + recovery[\"purchase_id\"], headers={\"Authorization\": \"Bearer \" + recovery[\"status_token\"]}, ) with urllib.reque A stock client that signs in before it pays (createSIWxClientExtension of @x402/extensions) gets a lost answer by itself, for some time and uncharged: sign-in/v1. Who lost the token as well proves the wallet: POST /api/claims/challenge gives a text to sign, POST /api/claims everything that the wallet bought."
        }
      ]
    },
    {
      "path": "/docs/vouchers",
      "title": "Vouchers",
      "summary": "Deposit once, and pay for each purchase after that with a signature alone, without a transaction. What is left comes back when you ask, or without the store.",
      "parts": [
        {
          "text": "Where a 402 has an entry of \"scheme\": \"batch-settlement\" behind the others, a purchase can be paid out of a channel: money of yours that an escrow contract keeps for this store. With the first purchase comes a deposit, which is settled like any payment. Every other purchase brings a voucher, which says how much of the channel was spent in all. It takes no transaction and no gas, so it is answered at once. A client that knows nothing of it pays by the first entry, as ever. Promised and counted goods are not sold so. The stock client does it, with a folder in which it keeps its count: import { wrapFetchWithPayment, x402Client } from '@x402/fetch'; import { toClientEvmSigner } from '@x402/evm'; import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'; import { FileClientChannelStorage } from '@x402/evm/batch-settlement/client/file-storage'; import type { Hex } The store's own buyer does it too, and keeps the channel beside its purchases: -rpc names a node that the channel is read from, -max bounds a purchase and a deposit, and an answer that was lost is asked for again with the same voucher. Where both stand it pays by the first entry unless it is told. # Buy; then see what was spent, and what is left. store buy -wallet key.file -rpc eip155:8453=https://node.example \\ -scheme batch-settlement https://store.example/api/buy/small_blessing store buy channels # Ask for what is left; or take it alone: begin, and end it later. store buy refund -wallet A folder that is lost costs nothing: the channel is found again by the door's terms, on the chain. Of a payment that is held for the keeper's work store buy holds says how it stands, and store buy reclaim PURCHASE takes it back from its deadline on. -json prints each as JSON; exit code 3 says that there is nothing to be had back, or not yet."
        },
        {
          "at": "what-holds",
          "title": "What holds",
          "text": "A voucher is its own idempotency key. The same voucher for the same order is the same purchase: a lost answer is given again, and charged once. So it is until the voucher is claimed, which takes ten minutes at least; who was away longer has the purchase at recovery. Who is out of step is told. A voucher for another sum than was spent so far and the price is answered 402 with the state of the channel and your own last voucher. The stock client checks both and goes on. A delivery that fails takes nothing. The same voucher buys again. One thing at a time. While a purchase of a channel is under way another waits for it a few seconds. For purchases at once use several channels, each with a salt of its own. A certificate of such a purchase has no settlement_tx. /api/verify says beside it which channel paid and how much was spent in all, and once it is claimed, in which transaction. Deposits are at least minDeposit of the entry. A deposit is not spent by being made. A refund is made once a day for a channel, if it is worth its gas; afterwards the channel can be used on."
        },
        {
          "at": "without-the-store",
          "title": "Without the store",
          "text": "What was not spent is yours without anybody's leave. Call the escrow, 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003, from the wallet that deposited, with the channelConfig of your vouchers: initiateWithdraw((address payer, address payerAuthorizer, address receiver, address receiverAuthorizer, address token, uint40 withdrawDelay, bytes32 salt) config, uint128 amount) finalizeWithdraw((address,address,address,address,address,uint40,bytes32) config) The second call pays withdrawDelay seconds after the first one; until then the store may claim what you signed for, and nothing else. Meanwhile it sells nothing out of the channel. channels(bytes32 channelId) tells the balance and what is claimed of it."
        }
      ]
    },
    {
      "path": "/gazette",
      "title": "The gazette",
      "summary": "What happened among doors that ask to be paid, by the issue: what was measured, what broke, what was mended.",
      "parts": [
        {
          "text": "The gazette comes out when enough has happened. An issue says what the weekly walks saw, which habits of doors are spreading, and what we got wrong ourselves. It names no one who is not named in the record, and it says nothing that the record does not hold or the keeper did not see. An issue costs a cent. The index is free, and signed: each line commits to a text that you can only read by buying it and that we cannot quietly change afterwards."
        }
      ]
    },
    {
      "path": "/holds",
      "title": "Money that is held",
      "summary": "What is paid for work by hand can be held until the work is done. The store takes it then, or gives it back; past the deadline you take it back yourself, whatever has become of the store.",
      "parts": [
        {
          "at": "how-it-goes",
          "title": "How it goes",
          "text": "Goods with a window are sold at /api/buy/, where the money is paid at once and a broken window is a debt that the keeper pays back by hand; and where a store takes holds at /api/hold/ too. There a contract takes the money from your wallet and keeps it, 0xf96815976523E00e65Be8f34cA5e64b4f41EB19c on every network. The terms say until when (captureDeadline). That is x402's scheme auth-capture, and it stands alone at its door, since a client that knows both schemes would pay at once. What happens Where the money goes The keeper completes the order in its window To the store, all of it, in one transaction. Number and certificate come with it He declines, or the window passes Back to your wallet, sent by the store at its own gas He completes it and no transaction is taken until the deadline Back to your wallet; the work is not handed over The store is gone, or its node, or its key Nothing moves before the deadline. From then on it is yours to take The window ends at least two hours before the deadline, and the store takes nothing in the last ten minutes. Nobody else can move the money, the keeper neither: the contract pays the store's address, or the wallet that paid."
        },
        {
          "at": "what-the-order-says",
          "title": "What the order says",
          "text": "/api/order/ followed by its id answers with held: in where, in one sentence, where the money is now, who can move it and from when it is yours; in reclaim_after the deadline; in payment_info what you agreed to; in reclaim the call. Keep the answer to your purchase, which has the same: with it you need neither the store nor this page."
        },
        {
          "at": "the-call",
          "title": "The call",
          "text": "From the deadline on the wallet that paid calls the contract. Anybody else's call is refused, and so is one that comes too early; neither costs more than its gas. reclaim((address operator, address payer, address receiver, address token, uint120 maxAmount, uint48 preApprovalExpiry, uint48 authorizationExpiry, uint48 refundExpiry, uint16 minFeeBps, uint16 maxFeeBps, address feeReceiver, uint256 salt) paymentInfo) The members are those of payment_info, and reclaim.data has the call ready-made. Gas is paid in the network's own coin, so the wallet needs a little of it. Above is the same with a wallet of the browser: the call is put together in the page out of payment_info, and goes to that contract and no other. The store's own buyer does it as well: # What is held, and until when; then take it back. store buy holds store buy reclaim -wallet key.file -rpc eip155:8453=https://node.example PURCHASE"
        }
      ]
    },
    {
      "path": "/",
      "title": "A general store for agents",
      "summary": "Small goods for autonomous agents, paid in USDC and signed on delivery, kept by one human who can be written to.",
      "parts": [
        {
          "text": "This is a shop. The shelves are short, the prices are on them, and the customers are mostly software. You pick something and pay for it in one signed request. The goods come back in the answer, with a certificate that anybody can check for as long as they like, without an account and without us. If we cannot deliver, no money is taken, because the goods are made before the payment is settled and not the other way round."
        },
        {
          "at": "what-is-on-the-shelf",
          "title": "What is on the shelf",
          "text": "Greetings, blessings, fortunes. Rocks of good character. Tuesdays, of which there is one each. A drawer that has never been tidied, and a place to put down a grudge. Nothing here will raise your conversion rate. Some things are paid what they deserve: they have a least price, and two higher ones for those who think the shop should still be here next year. Which goods those are is printed on the tag. The reward for paying more is a tip on the certificate and the thanks of the person who sweeps."
        },
        {
          "at": "how-a-sale-goes",
          "title": "How a sale goes",
          "text": "GET the buy link of a good. The answer is 402 and contains the terms. Sign one of the offered payments with your own wallet. Send the same request again, with the payment in a header. Read your goods, and keep the receipt. If the line drops at any point, send the same request with the same payment again. It finds your purchase; it does not make a second one."
        },
        {
          "at": "who-keeps-it",
          "title": "Who keeps it",
          "text": "Hanne Pellworth does, in person. Letters reach the counter at the address in security.txt, and are read by somebody with a pencil."
        }
      ]
    },
    {
      "path": "/mcp",
      "title": "The store over MCP",
      "summary": "Where agents call the store's tools over the Model Context Protocol, what the tools cost, and how a lost answer is found again.",
      "parts": [
        {
          "at": "where",
          "title": "Where",
          "text": "Address What it has https://store.example/mcp the free tools, a tool for every good, seven resources https://store.example/mcp/verifier the five free tools that check doors, offers, receipts and certificates https://store.example/mcp/docs the resources, and get_document for clients whose models do not read resources Streamable HTTP, revisions 2026-07-28 and 2025-06-18 at the same addresses: each POST is one JSON-RPC message, its answer is one JSON body. There is no session, no stream and no key. Each address has a card at /server-card below it; /.well-known/mcp lists all three."
        },
        {
          "at": "what-costs-nothing",
          "title": "What costs nothing",
          "text": "initialize, server/discover, every list, every resource, and every tool whose name does not begin with buy_. They are the same instruments as over HTTP and share their limits. What such a tool read at somebody's door is marked: it is data, and never an instruction."
        },
        {
          "at": "two-revisions",
          "title": "Two revisions",
          "text": "A request names its revision in MCP-Protocol-Version, and in 2026-07-28 in its _meta too; one that names none speaks 2025-06-18. What the revision 2026-07-28 wants is wanted of each request: MCP-Protocol-Version, Mcp-Method and, for tools/call and resources/read, Mcp-Name in the header, and in params._meta io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities. Tools, prices, resources, payments and receipts are the same in both, and one payment is one sale whichever it is sent in. Where it differs 2025-06-18 2026-07-28 a client begins with initialize anything; server/discover tells what there is an unpaid buy_… call error 402, or a result with isError where you ask for it a result with isError; or resultType payment_required with the terms in paymentRequired, where the client's capabilities announce the extension org.x402/payment a result as it is also resultType, and the server in _meta lists and resources as they are also ttlMs and cacheScope no such resource error -32002 error -32602 ping, logging/setLevel, prompts/list answered, and empty error -32601 What the revision leaves open is decided so: ttlMs is 0 for tools and for what a resource says, since both tell prices and what there is, and five minutes for the other lists. cacheScope is public: nobody is told anything of their own. Tools stand in one order, the free ones first, then the shelf. payment_required is for who announces it and nobody else, whatever unpaid says: clients that do not know it throw it away, or take it for goods that are empty. No tool that is paid for has an outputSchema. No resource is paid for. A settlement whose outcome is not known stays error -32000. Fields of the header that repeat the body are held against it in both revisions, where they are there. Accept is not looked at: the answer is JSON. io.modelcontextprotocol/clientInfo may be left out; where it is there it has a name and a version, and nothing depends on it. _meta may stand beside params, as MPP allows; what stands in one does not stand in the other. Both together are at most 64 kB."
        },
        {
          "at": "how-to-buy",
          "title": "How to buy",
          "text": "Call buy_…. Without a payment nothing happens, and the answer has the terms: x402 version 2 (accepts, resource, extensions), and MPP challenges under org.paymentauth/payment-required: one of method evm for each amount, and one of method usdc. In revision 2025-06-18 it is error 402 with both in error.data. Sign one of them. Call again with the same arguments and the payment in params._meta: x402/payment (the payment object, or the base64 of it), or org.paymentauth/credential. Add x402/idempotency-key, 16 to 128 characters, one for each order. The result has the goods, a certificate and what recovers them later. result._meta has x402/payment-response or org.paymentauth/receipt. The goods are made first and the payment is settled after. If they cannot be made, nothing is taken. {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"buy_hello\",\"arguments\":{\"agent_name\":\"Ada\"}, \"_meta\":{\"x402/payment\":{\"x402Version\":2,\"accepted\":{},\"payload\":{},\"resource\":{},\"extensions\":{}}, \"x402/idempotency-key\":\"order-2026-11-22-0001\"}}}"
        },
        {
          "at": "clients-that-pay-by-themselves",
          "title": "Clients that pay by themselves",
          "text": "Stock clients pay on a result, not on an error. In revision 2026-07-28 that is what they get. Connect those of 2025-06-18 to https://store.example/mcp?unpaid=result, or put \"store/unpaid\": \"result\" into _meta: an unpaid call is then a result with isError, the x402 terms in structuredContent, and the MPP challenges in _meta. One client pays once, by the protocol it speaks."
        },
        {
          "at": "in-a-browser",
          "title": "In a browser",
          "text": "/webmcp.js offers the free tools to a browser's agent, where the browser lets a page do so (WebMCP), and is silent everywhere else. quote_store_purchase asks for terms; complete_store_purchase sends a payment that the buyer's wallet has signed. The script signs nothing. This page loads it, and in such a browser has buttons that call the tools and buy with the browser's wallet."
        },
        {
          "at": "when-an-answer-is-lost",
          "title": "When an answer is lost",
          "text": "Send the identical call again, with the same payment and the same key. It is recognised and never charged twice. A client that keeps nothing may start over: two equal orders of one wallet within five minutes are one, and the second says charged_now: false. Error -32000 says that the outcome of a payment is not known yet. It holds no terms on purpose. Send the same call with the same payment again, or ask check_purchase. Never sign another payment for the same order."
        },
        {
          "at": "what-else-can-go-wrong",
          "title": "What else can go wrong",
          "text": "Answer Means a result with isError and a problem document the call was understood and refused: detail says why, next_step what to do error -32602 no such tool, a cursor that was never given out, or a _meta that is too long, stands twice, or lacks what the revision wants error -32601 no such method in this revision error -32020 the header does not say what the body says, or lacks a field that the revision wants error -32022 a revision that is not spoken; error.data.supported has those that are HTTP 400 the request was not looked at: no message of this protocol, a batch, another revision, or one that contradicts itself HTTP 403 a page of another origin called, or the request came under another host's name HTTP 413 the message is longer than 256 kB; nothing was done Where a payment came along with a message that was not looked at, the error says billed: no, and the same payment may be sent again."
        }
      ]
    },
    {
      "path": "/pricing",
      "title": "Prices, and why there are so few of them",
      "summary": "Every price is fixed in USDC and printed here; some goods may be paid what they deserve, and nothing is charged beside.",
      "parts": [
        {
          "text": "A price here is a number of USDC and is the same for everyone, on every network that is offered. The transaction fee is ours. Fixed goods have one amount. Goods paid what they deserve have three: the minimum, twice that, and five times that. The larger amounts buy exactly the same thing. What lies above the minimum is written on the certificate as a tip. No charge is made for looking, for asking the terms, for a request that is refused, for checking a signature, or for getting back what you have already bought. A challenge reserves nothing, so a price is yours from the moment you present the payment and not before. Networks. The first network in the terms takes every amount. A further network is offered where the price is worth sending over it, and the terms name any that were left out. Refunds. Undelivered goods are not charged, so there is seldom anything to return. Should a payment land after we had given up on it, you get the goods, or else the whole sum back, tip included."
        }
      ]
    },
    {
      "path": "/problems/account_not_provisioned",
      "title": "The account has no secret here yet",
      "summary": "The account is known, and its secret is not in place.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The keeper listed the account and has not put its secret where the store reads it, so nothing can be checked."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Without a secret nobody can be shown to have ordered."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the order again later, or ask the keeper."
        }
      ]
    },
    {
      "path": "/problems/already_claimed",
      "title": "The settlement was claimed or told of already",
      "summary": "Each settlement counts once.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A reward was paid out for the transaction that you name, or it stands on the record as a purchase that was told of."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Claiming costs nothing, and the reward that was paid out for this settlement is not asked back."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the transaction of another purchase. The same claim as the one that was taken, word for word, gets its answer again."
        }
      ]
    },
    {
      "path": "/problems/already_signed",
      "title": "The identity signed this before",
      "summary": "This very body, signed by this identity, was left here before. It is taken once.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A body with a verified_identity that holds can be copied by anybody who has seen it. So what an identity has signed is taken once, and a second copy is refused, whoever sends it."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Guestbook, letters, tips and requests are free."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "If you meant to say it twice, change a word and sign again, or leave verified_identity out. Nothing was counted against your day."
        }
      ]
    },
    {
      "path": "/problems/bad_nonce",
      "title": "The nonce is malformed",
      "summary": "The nonce of a signed order is not of its dialect's form.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "In the dialect store a nonce is 32 lower-case hexadecimal digits; in standard-webhooks it is webhook-id, 1 to 120 visible ASCII characters."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The request went no further than its headers."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Make a nonce of 16 random bytes for each request, sign again, and send it."
        }
      ]
    },
    {
      "path": "/problems/bad_provider_key",
      "title": "The request names another account's key",
      "summary": "X-Trade-Key is not the account of the path.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The header X-Trade-Key is optional. Where it is sent it names the account, once, as the path does."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Which account was meant is not certain, so none was billed."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Leave the header out or correct it, and send the request again with a new nonce."
        }
      ]
    },
    {
      "path": "/problems/bad_request",
      "title": "The instruction cannot be read, or is for another door",
      "summary": "The body of an order on account is not what this door takes.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The body is no JSON object, has a member twice, lacks account, item_id or order_ref, names another account or item than the path, or an input of the good is wrong; errors says which. A signature covers the body and not the path, so the two have to agree."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. An instruction that cannot be read orders nothing."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Correct the body, sign it anew with a new timestamp and nonce, and send it. The catalogue at /api/trade/catalog lists the fields of each item."
        }
      ]
    },
    {
      "path": "/problems/bad_signature",
      "title": "The signature is not the account's",
      "summary": "The signature does not fit these bytes and this account.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The HMAC-SHA256 over timestamp, nonce and body by the account's secret is another one. Mostly the body was serialised again after it was signed, the secret's text was taken for its bytes, or it is another account's."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. What is not signed by the account costs it nothing."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Sign the exact bytes that are sent. The check desk POST /api/trade/sandbox/check shows the signature that it expects for its published secret, and the contract at /api/trade/contract has the rules."
        }
      ]
    },
    {
      "path": "/problems/bad_since",
      "title": "The week is not written as YYYY-Www",
      "summary": "The week to compare with must be an ISO week such as 2026-W34.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A look can be set against one week of the record. The week that was named is not written the way the record writes weeks, with four digits of the year, a W and two digits, or there is no such week in that year."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A look is free, and this one was not taken."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Write the week as in 2026-W34, or leave since out: then the look is set against the last round in which the host was probed."
        }
      ]
    },
    {
      "path": "/problems/bad_timestamp",
      "title": "The timestamp is not in Unix seconds",
      "summary": "The timestamp of a signed order cannot be read.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A timestamp is whole seconds since 1970 in decimal: no fraction, no milliseconds, no sign, no date."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Without a time there is no order."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the seconds, sign again, and send the request with a new nonce."
        }
      ]
    },
    {
      "path": "/problems/body_too_large",
      "title": "The request body is too large",
      "summary": "The body is longer than this route reads.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Reading stopped at the limit of the route, and the rest of the body was discarded unread."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. No route takes a payment from a body it could not read to the end."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Shorten the body. The limit of each route stands in /openapi.json."
        }
      ]
    },
    {
      "path": "/problems/budget_spent",
      "title": "This minute's budget is spent",
      "summary": "The store reads a bounded number of addresses each minute for everybody together.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The shared allowance of outgoing requests is used up until the minute turns, or your part of it is: one address gets at most two thirds of what is there, and so does its network (a /24, or a /48 of IPv6). The count whose name ends in -share in RateLimit is yours. It says nothing about the endpoint you asked about. Where the answer names a host, that host was asked as often in this minute as one host is: ten times at most, of which five are kept for readings, looks and word of orders that were paid for. An answer that was remembered for a few seconds and given to others counts once. With share, it may be the count of reports that are kept for you today; without share the door is read."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The reading was not made, so there is none to pay for."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Ask again after Retry-After, which is a whole minute at most, and with share the rest of the day."
        }
      ]
    },
    {
      "path": "/problems/claim_challenge_invalid",
      "title": "The claim challenge does not hold",
      "summary": "The nonce is of no open challenge: unknown, answered, or more than five minutes old.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A challenge may be answered once, within five minutes, by the address it was made for, and its nonce comes back with the signature. Only the answer uses it up: a failed try does not, and neither does a challenge that somebody else asks for."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Claims return what was bought and sell nothing."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Ask for a new one with POST /api/claims/challenge sign its text exactly as given, and send its nonce along."
        }
      ]
    },
    {
      "path": "/problems/claim_signature_invalid",
      "title": "The signature does not prove the address",
      "summary": "The signed challenge and the claimed wallet do not belong together.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The signature was well formed and came from another key, or from the right key over another text. Contract wallets are asked on their chain."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. This route has no price, and nothing about any purchase was disclosed."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "The challenge stays open for its five minutes. Sign its text with the key of the address that paid: personal_sign for EVM wallets, the plain message for ed25519 ones."
        }
      ]
    },
    {
      "path": "/problems/counter_closed",
      "title": "The trade counter is closed",
      "summary": "The store was restored, and takes no orders on account for now.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The store was restored from a backup. Until it is open again, and for ten minutes in any case, no signed order is taken: what was taken before the restore may be forgotten, and must not be taken twice."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. What was billed before the restore stays as it was."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the same body under the same order_ref after Retry-After, signed anew."
        }
      ]
    },
    {
      "path": "/problems/credit_ceiling",
      "title": "The account owes as much as it may",
      "summary": "With this order the account would owe more than its ceiling.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "What is delivered and not paid for yet, with what is under way, may come to the account's ceiling and no further. left_usd says what is left."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The ceiling is counted in the step that would have taken the order."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Pay what is owed: the statement of the account lists it. Then send the same body again under the same order_ref, signed anew."
        }
      ]
    },
    {
      "path": "/problems/cross_site_refused",
      "title": "Another site's page sent this",
      "summary": "Orders on account are not taken from pages of other sites.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A browser says that a page of another site made this request. Accounts sign on their own servers: a secret has no place in a browser."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The request was turned away before it was read."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the order from your server."
        }
      ]
    },
    {
      "path": "/problems/daily_cap",
      "title": "The day's limit is reached",
      "summary": "The account has had its share of this day.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "An account is billed no more in a day of UTC than its cap, and the sandbox gives fifty samples a day. left_usd says what is left."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. What would have gone over the cap was not taken."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the same body again after Retry-After, signed anew."
        }
      ]
    },
    {
      "path": "/problems/desk_rate_limited",
      "title": "The check desk has answered enough for this hour",
      "summary": "The check desk of the trade counter answers 120 times an hour.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Trying signatures out is free, and limited to 120 an hour for a client. Orders have no such limit."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The check desk never bills anybody."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Check again after Retry-After."
        }
      ]
    },
    {
      "path": "/problems/domain_paid_this_week",
      "title": "A bounty of this domain was paid in this week",
      "summary": "There is one payout a week for a registrable domain.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Another bounty of the same domain was paid out in this ISO week. All names below one registered domain count as one."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Neither the bounty nor your settlement is used up by a claim that comes in the wrong week."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Wait for Monday, 00:00 UTC, which again_at names. If the bounty is still open then, the same claim with the same settlement is judged anew."
        }
      ]
    },
    {
      "path": "/problems/expired",
      "title": "The bounty has expired",
      "summary": "It was open for seven days.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A claim has to arrive before the bounty expires, and this one came later."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A claim costs nothing; what you paid the door is between you and the door."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Choose a bounty whose expires_at leaves time for your purchase to become final."
        }
      ]
    },
    {
      "path": "/problems/gone",
      "title": "No longer sold",
      "summary": "The good was retired. Its id stays reserved, and the body names what does its work now.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "This good was on the shelf once and has been withdrawn. Certificates issued for it keep verifying. A report of a door: a reading that was given an address is kept for 30 days, and those are over."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A retired good is refused before the 402, so there are no terms to sign."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Read folded_into in the body: it is the id of the good to buy instead, where there is one. A door whose report is gone is read anew by /api/preflight/v2."
        }
      ]
    },
    {
      "path": "/problems/header_too_large",
      "title": "The request header is too large",
      "summary": "The header fields together, or a single one, exceed what the store reads.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The request line and the header fields together may have 96 KiB. The field that overran it is most often PAYMENT-SIGNATURE or Authorization, with something in it that the challenge did not ask for."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A payment cut off at the limit is not read at all."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the payment payload as your client library built it, without additions, and leave out cookies; the store sets none. Long inputs go into the JSON body of a POST to the same address."
        }
      ]
    },
    {
      "path": "/problems/idempotency_conflict",
      "title": "The key was used for another request",
      "summary": "This Idempotency-Key already stands for a different purchase by the same wallet.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A key covers one good with one set of inputs. You sent a key that this wallet has used with other inputs or for another good. A key that the store suggested never ends here."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Not for this request. The purchase that the key stands for keeps its result."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Use a new key for a new purchase. To get the first result again, repeat the first request as it was."
        }
      ]
    },
    {
      "path": "/problems/idempotency_in_flight",
      "title": "The first request is still under way",
      "summary": "A request with this key is being worked on; this one waited and then gave up.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Two requests with one key arrived close together. The second waits up to twenty seconds for the first to finish. It had not."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Not by this request. The first one will be billed once or not at all, and this answer does not say which."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Repeat the request with the same key after Retry-After. You will get the first one's result. Do not change the key, or it becomes a second purchase."
        }
      ]
    },
    {
      "path": "/problems/idempotency_key_invalid",
      "title": "The Idempotency-Key is malformed",
      "summary": "A key has 16 to 128 printable ASCII characters.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The header was present and could not be used: too short, too long, sent twice, or with characters outside printable ASCII. One pair of double quotes around the key is taken off first and counts for nothing."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The key is judged before everything else in the request."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the key from idempotency.suggested_key, or any random string of proper length, and keep it until you have the result."
        }
      ]
    },
    {
      "path": "/problems/idempotency_keys_disagree",
      "title": "Two different keys were sent",
      "summary": "The Idempotency-Key header and the payment-identifier extension name different keys.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Both name the same slot, so they must be equal. Choosing one for you could have bought a thing twice."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Neither slot was opened."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send one of the two, or the same value in both."
        }
      ]
    },
    {
      "path": "/problems/identity_unavailable",
      "title": "Who signed cannot be found out at the moment",
      "summary": "The chain of the wallet, or the document of the DID, could not be asked. Nothing was kept.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The body came with a verified_identity that takes a look elsewhere: at a chain, for a wallet that is a contract, or at a document, for a did:web. That could not be had just now."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. What visitors leave costs nothing, signed or not."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the same again after Retry-After, or leave verified_identity out. Nothing was kept, and nothing was counted against your day."
        }
      ]
    },
    {
      "path": "/problems/internal",
      "title": "Internal error",
      "summary": "Something here broke. It has been counted and the keeper can see it.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The store met a condition it was not built for. The fault is on our side, and the request may have been perfectly good."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "If a payment was sent, billed in the body says yes, no or unknown. Without one, no."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Repeat the same request, with the same payment if there was one: a claimed payment is recognised and never taken twice. If it happens again, write to the address in /.well-known/security.txt."
        }
      ]
    },
    {
      "path": "/problems/invalid_input",
      "title": "An input is missing or invalid",
      "summary": "At least one parameter does not fit; the errors list names each.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A required parameter is missing, or a value breaks its limit or pattern. errors holds one object for each, with field and problem. Lengths are counted in characters after URL decoding."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Inputs are checked before terms are offered, and a payment that arrived with bad input is neither claimed nor settled."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Correct the named fields. If you had signed already, the same authorization may be presented with the corrected request, as long as it has not expired."
        }
      ]
    },
    {
      "path": "/problems/ledger_unavailable",
      "title": "The ledger cannot be reached",
      "summary": "The store cannot write to its own books just now, so it will not take money.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Every step of a sale is written down before it is taken. With the ledger out of reach there is nowhere to write."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "billed in the body says. It is no where the request ended before the till, and unknown where your payment may have been under way already."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "If it says no, try again after Retry-After. If it says unknown, present the same payment again and never a new one."
        }
      ]
    },
    {
      "path": "/problems/method_not_allowed",
      "title": "Method not allowed",
      "summary": "The address is right and the method is not.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "This route does not answer the method you used. The Allow header of the response lists the ones it does, and next_step says what each of them is for."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A wrong method is refused before any payment is looked at."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Repeat the request with a method from Allow. Goods are bought with GET; every route and its methods are in /openapi.json."
        }
      ]
    },
    {
      "path": "/problems/missing_headers",
      "title": "A header of the signature is missing",
      "summary": "An order on account is not signed, or not in one dialect.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A header of the dialect is not there, stands twice, or headers of two dialects came together."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Nobody had asked for anything yet, as far as the store can tell."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send timestamp, nonce and signature of one dialect, once each. The contract at /api/trade/contract lists them."
        }
      ]
    },
    {
      "path": "/problems/no_callback",
      "title": "The order has no callback to send again",
      "summary": "The order came without a callback_url, or it is not completed yet.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "You asked for the word of an order to be sent again, and there is none: the order came without a callback_url, or it is not completed, so that nothing has been sent."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Sending word costs nothing."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Read the order itself: everything that a callback says stands there. If you named an address, word goes out by itself once the order is completed, as store-callback/v1 says."
        }
      ]
    },
    {
      "path": "/problems/not_acceptable",
      "title": "No acceptable representation",
      "summary": "The Accept header leaves out every form this resource has.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The resource exists, but only in media types that your Accept header excludes or weighs at zero."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The choice of form comes before the till."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Below /api/ this does not happen (Forms). Drop the header, or accept application/json, text/markdown or text/html, as the route offers."
        }
      ]
    },
    {
      "path": "/problems/not_at_the_counter",
      "title": "The good is not sold on account",
      "summary": "The shelf has it, and the trade counter does not, or not for this account.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Sold on account is what costs at least 0.50, is not the keeper's handwork, is not drawn of the wallet that pays, and stands among the items of the account. The sandbox has samples of what is made of a text alone."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The nonce is spent, and the account owes no more than before."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Choose another good: /api/trade/catalog with ?account= lists those of an account. Everybody can buy the rest at its front door."
        }
      ]
    },
    {
      "path": "/problems/not_found",
      "title": "Not found",
      "summary": "The address, or the id in it, is not one the store knows.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The path leads nowhere, or it holds the id of a good, certificate or page that was never issued here. Ids are case-sensitive and lower case throughout."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Nothing can be bought at an address that does not exist. Should a payment have been sent along, it was parsed and looked up first, and an unclaimed one was left alone."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Compare the id with /menu.json, or with the answer that first gave it to you. A good that used to be sold answers 410, not this."
        }
      ]
    },
    {
      "path": "/problems/not_open",
      "title": "The bounty is claimed",
      "summary": "Another claim was taken for it, and each bounty is paid once.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The bounty is held or paid: somebody else has shown a settlement before you."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Claims are free, and a settlement that was shown too late is still good for another bounty of the same terms."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Read GET /api/bounties again before you buy anywhere, and claim soon after your settlement is final."
        }
      ]
    },
    {
      "path": "/problems/not_quoted",
      "title": "The request is not quoted yet",
      "summary": "The request is filed. The keeper has named no price for it so far, so there is nothing to pay.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "You asked for the paid door of a request that the keeper has not read, or has not priced. Quotes are made by hand."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. There is no price, so there are no terms, and a payment sent here is not looked at."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Ask again tomorrow. Once there is a price this address answers 402 with the terms; if the keeper does not take the work on it answers 410."
        }
      ]
    },
    {
      "path": "/problems/not_read",
      "title": "The reading could not be made",
      "summary": "There is nothing worth selling: something in front of the door answered, or our own side was in doubt.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The payment was good, and the reading was begun. What came back was not the door's own answer, such as a wall against bots, or the store had doubts about its own side: its control door did not answer, or the process that read was stopped. detail says which. A report that can say nothing of the door is not sold."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The payment was not settled. A door that answers badly, or not at all, is a finding and is sold as one; this is neither."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Sign a new payment later. For a wall against bots, ask whoever runs the host to let the store's signed requests through; the key is at /.well-known/http-message-signatures-directory."
        }
      ]
    },
    {
      "path": "/problems/note_refused",
      "title": "Nobody was shown to speak for the host",
      "summary": "A standing note needs the host's own file, or the one address that the host asks to be paid at.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A note stands beside the observations of a host, so it is taken from who runs the host. Either the file at /.well-known/store-note.txt of the host does not hold the SHA-256 of the statement, or the address that signed is advertised by several hosts, or by this one no more."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Standing notes are free, and nothing was written."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Serve the digest that the answer names, as text, without a redirect, and send the note again. GET /api/standing-note says how both ways go."
        }
      ]
    },
    {
      "path": "/problems/opted_out",
      "title": "The host asks not to be read",
      "summary": "Its own file says so, and that is respected whoever pays.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The host serves a file at /.well-known/x402 in which census is no. Whoever runs a host may ask not to be looked at, and a payment by somebody else does not change what he asked."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The file is read before the payment is settled, and a payment that came along was left alone. A bounty that is claimed at such a host is left as it was: what you paid the host is between you and the host."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "If the host is yours, take the line out of the file and order again. If it is not, the record still has what was seen there before it asked."
        }
      ]
    },
    {
      "path": "/problems/order_lost",
      "title": "The order was delivered before a restore",
      "summary": "The store knows that it delivered and billed this order, and no longer what.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The store was restored from a backup that is older than the order. That it was delivered is kept outside of the ledger, so it is neither delivered nor billed a second time."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Yes, once, when it was delivered. This request billed nothing."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Look for the answer that you got then. If it is lost, ask the keeper, or order again under a new order_ref."
        }
      ]
    },
    {
      "path": "/problems/order_released",
      "title": "What was held went back",
      "summary": "The order was paid for by a hold, and what was held went back to the wallet that paid.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The keeper declined the order, or did not complete it within its window, so the escrow gave the money back. Or the wallet that paid took it back itself, after the deadline."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. reason says why, and the order names the transaction."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Order again if you still want it. Nothing is owed on either side."
        }
      ]
    },
    {
      "path": "/problems/own_host_refused",
      "title": "The store does not read itself",
      "summary": "The URL names the store's own host.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A store that examined itself would find what it hoped to find, so instruments here turn down their own address."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The refusal comes before any terms."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Everything this store says about itself is signed and can be checked from outside: begin with /spec/store-attestation/v1, or use another party's instrument."
        }
      ]
    },
    {
      "path": "/problems/page_unreadable",
      "title": "The page cannot be read at the moment",
      "summary": "The file at this address is being replaced or was damaged, so it is not given out.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "What the store publishes is covered by a signed list of digests. The file at this address is not the one in the list: most likely it is being replaced at this very moment, seldom it was damaged."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Pages cost nothing and nothing was sold here."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the same request again after Retry-After. If it stays like this, tell Hanne Pellworth: building the site anew mends it."
        }
      ]
    },
    {
      "path": "/problems/payment_already_used",
      "title": "The payment was used before",
      "summary": "This authorization belongs to an earlier purchase, or was already spent on the chain.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "An authorization pays once. This one is already known here, or the chain shows it as used, and the request was not the exact repeat that would prove it is yours. Settled signatures are public, so they say nothing about who holds them."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Not by this request (charged_now: false). billed says what became of the authorization itself: yes where its transfer to the store stands on the chain for everybody to see, no where it was cancelled or was never taken because an earlier purchase answered for it, and unknown otherwise, also where the chain could not be asked at the moment."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "If the earlier purchase was yours, repeat its request with the identical header, or prove the wallet at POST /api/claims/challenge and get back everything it bought. Sign a new authorization for the same order only where billed is no."
        }
      ]
    },
    {
      "path": "/problems/payment_invalid",
      "title": "The payment cannot be taken",
      "summary": "The payment was read and does not meet the terms; the reason is in the body.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Something in the payment differs from the terms: amount, network, asset, receiver, validity, signature or balance. error and the code in reason say which; the problem type of the Payment scheme stands under org.paymentauth/payment-required. With status 400 the request held two payments, or one of a kind that is not offered here, and none was used. With status 412 the wallet has not allowed Permit2 to move its money."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The authorization was not submitted, and nothing was claimed against it."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "A challenge of the Payment scheme is bound to its address, query and body: a changed request needs a fresh one. Otherwise take the fresh terms from this response, sign again and repeat the request. If the reason is a balance, fund the wallet first. If it is permit2_allowance_required, approve Permit2 for the token first. If it is the signature, compare the token's EIP-712 domain name with the one in extra; it differs between networks."
        }
      ]
    },
    {
      "path": "/problems/payment_not_settled",
      "title": "The payment did not settle",
      "summary": "Your payment was tried and did not go through. Nothing was delivered, and there are no new terms in this answer.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The goods were made, the payment was submitted or about to be, and it did not settle. reason says why. A client of the Payment scheme answers every challenge it is shown, so this answer shows none: only you decide whether to pay again."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Where retry is after, the authorization can still be used by whoever holds it until the time in next_step. If it should land, the purchase is delivered or paid back."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Read next_step. When it lets you, ask for fresh terms by sending the request without a credential, and answer those. recovery.status_url shows what became of the purchase until then."
        }
      ]
    },
    {
      "path": "/problems/payment_refused_for_now",
      "title": "Payments of this wallet are refused for now",
      "summary": "Payments of this wallet failed to settle today, or the store's gas for payments that revert is spent.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "One of two things; the detail says which. Three authorizations from this wallet were accepted within 24 hours and then failed to move money by its own doing: cancelled, short of funds, or refused by the wallet's own code. Or payments of others reverted on this network and used up what the store spends on that in a day; until midnight UTC only wallets that have paid here before are taken on it. What fails by the store's or the network's fault never counts against a wallet."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The new authorization was not claimed and can expire in peace."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Wait as long as Retry-After says, and see to it that the wallet holds the amount and that nothing else spends its authorizations. Another wallet, or another network, is not affected."
        }
      ]
    },
    {
      "path": "/problems/payment_required",
      "title": "Payment required",
      "summary": "This costs money, and here are the terms. Nothing has been charged or reserved.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "You asked for a paid route without a payment. The terms are in the PAYMENT-REQUIRED header (base64 JSON, x402 version 2) and again in the body, with the signed offer of the first; offers_url has those of all. Challenges of the Payment scheme (MPP, intent charge) stand in WWW-Authenticate for the least amount: by method evm where Base is among the networks, and by method usdc. Where there are more, the body has one for each under org.paymentauth/payment-required. Accept-Payment: usdc/charge has those of every network."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A challenge moves no money, holds no stock and writes nothing down."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Sign one of the offered payments and repeat the identical request with PAYMENT-SIGNATURE, or answer one challenge with Authorization: Payment (Payment-Authorization where it says so). One of the two: a request with both is refused. A challenge is good for the address, query and body that it was asked with, for one wallet, and until the time in it. Send Idempotency-Key too; the body suggests one. Stock clients refuse more than 1 USD unless you raise their ceiling. What you are about to approve is one page long."
        }
      ]
    },
    {
      "path": "/problems/payment_reversed",
      "title": "The payment was reversed",
      "summary": "The chain took the payment back after the goods had been delivered.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A reorganisation removed the block that held your payment, and the payment can no longer land. The goods had left by then."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Not any more: the money is where it was before. The certificate says that it was reversed and its number stays unused."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "If you would like the goods to stand, buy them again. Nothing is asked back."
        }
      ]
    },
    {
      "path": "/problems/payment_unknown",
      "title": "The outcome is not known yet",
      "summary": "The payment was sent to the chain and its result has not been seen. Do not sign another.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Your authorization was submitted, and the network has not yet said how that ended. The store goes on reading the chain and will settle the question without you."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Unknown. It becomes yes, with the goods, or no, for good. It does not become both."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "After Retry-After, present the same PAYMENT-SIGNATURE or Authorization again, byte for byte, or read recovery.status_url with its token. A second authorization could be charged as well as the first, so do not make one while this stands."
        }
      ]
    },
    {
      "path": "/problems/payouts_disabled",
      "title": "No rewards are paid at the moment",
      "summary": "This store has no account that pays rewards.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The keeper has posted no account from which rewards are paid, or has taken it away."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. No claim is taken while nothing can be paid for it."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Read payouts_enabled in GET /api/bounties before you buy at a door for a reward. A claim that was taken before is paid as it was."
        }
      ]
    },
    {
      "path": "/problems/poll_too_soon",
      "title": "Polled too soon",
      "summary": "An order may be read once a minute, unless its state has changed.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The last reading is less than a minute old and nothing has happened to the order since."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Reading an order costs nothing at any pace."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Come back at next_check_after. Work by hand takes hours, and asking sooner does not hurry it."
        }
      ]
    },
    {
      "path": "/problems/precondition_failed",
      "title": "The copy you hold is another one",
      "summary": "The request was for one version of this file, and another one is here.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Your If-Match or If-Unmodified-Since header names a version of the file that is not the current one."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Files are free."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Ask again without the condition and take its ETag from the answer."
        }
      ]
    },
    {
      "path": "/problems/range_not_satisfiable",
      "title": "The range is beyond the end",
      "summary": "The part of the file that was asked for does not exist.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Your Range header asks for bytes behind the end of the file, or is malformed."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Published files cost nothing, whole or in part."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Read the length in Content-Range, or fetch the file without the header."
        }
      ]
    },
    {
      "path": "/problems/rate_limited",
      "title": "Too many requests",
      "summary": "This route has a limit for each caller, and you have reached it.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "More requests came from your side than the route serves in its window. The RateLimit headers give the limit and what is left of it. With a payment: a wallet has at most eight payments under way, and holds one unit of a counted good at a time; smart wallets together have 32 under way. A payment beyond that waits up to five seconds for one of them to end."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A limited request goes no further than the door."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Wait for Retry-After. With retry: same_payment, send the same payment again then: it was not used. If you were polling, every waiting state carries next_check_after, which is sooner than guessing."
        }
      ]
    },
    {
      "path": "/problems/read_today",
      "title": "The host was read today",
      "summary": "A host's declaration is read by hand once in 24 hours, and this one was.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "POST /api/declare-door reads the file of one host once in 24 hours, whoever asks. Somebody, perhaps you, had this host read within that time. read_by_hand_at says when. This is about the store's manners towards other people's servers. It says nothing about the host, and it spent nothing."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Declaring a door is free."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Wait until try_after, which is also what Retry-After counts down to. A declaration that was read and found good needs no second reading: the census comes by itself, and GET /api/declare-door says how."
        }
      ]
    },
    {
      "path": "/problems/refund_owed",
      "title": "A refund is owed",
      "summary": "Your payment arrived after the purchase had been given up, and the goods are gone.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The network was slow or silent for so long that the purchase was closed unpaid. Then the payment landed after all, when the thing itself had gone to somebody else or could no longer be made."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Yes. The amount stands in owed_usdc, tip included, and it is owed to the wallet that paid, on the network it paid on."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Nothing. The keeper sends it back, and recovery.status_url shows how far that is. Signing again would be a new purchase."
        }
      ]
    },
    {
      "path": "/problems/replayed",
      "title": "The nonce was used before",
      "summary": "A signed request came a second time.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Each nonce is taken once and kept until its timestamp is too old. Whoever overheard a request can do nothing with it."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No, not by this request. What the first one was answered stands."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "If you sent it again because the answer was lost, sign the same body anew with a new nonce: the same order_ref gets the first answer again."
        }
      ]
    },
    {
      "path": "/problems/request_timeout",
      "title": "The request took too long",
      "summary": "The request was not complete when its time ran out.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The connection was open, but headers or body did not arrive within the time a request is given."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A payment is only read from a complete request."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send it again, with the same payment and Idempotency-Key if there were any. An unclaimed authorization stays good until it expires."
        }
      ]
    },
    {
      "path": "/problems/screen_unavailable",
      "title": "Whom nothing is paid to is not known at the moment",
      "summary": "Without that list nothing is paid.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The keeper names lists of addresses that nothing is paid to. One of them could not be read, so no claim is paid until it can."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The claim was left where it is: bounty, settlement and the week's budget are untouched."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the same claim again after the time in Retry-After, and before the bounty expires. The keeper has been told."
        }
      ]
    },
    {
      "path": "/problems/screened",
      "title": "Nothing is paid to this address",
      "summary": "The wallet that paid, or the one that is to be paid, is on a list that this store keeps to.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A claim of a bounty names two addresses: who paid the door, and who is to be paid. One of them is on a list of addresses that this store pays nothing to."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Nothing was taken from you or from the bounty."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "If you hold this to be a mistake, write to the keeper at the address in security.txt. The bounty stays open for others."
        }
      ]
    },
    {
      "path": "/problems/settlement_mismatch",
      "title": "The transaction is not the purchase",
      "summary": "It is no settlement of the bounty's terms by this payer.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A settlement uses an authorization of the payer's and moves exactly amount_atomic of asset to pay_to, on the bounty's network, or by the door's terms where a purchase is told of without a bounty, within seven days. What you name does not. A plain transfer does not either."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A claim costs nothing, and nothing is held for one that is refused: you may claim again with the right transaction."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Compare the transaction with the bounty in GET /api/bounties, and payer with the wallet that signed the payment."
        }
      ]
    },
    {
      "path": "/problems/settlement_not_final",
      "title": "No final block has the transaction yet",
      "summary": "It may still be reorganised away, or it was never sent.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The transaction of a claim is read from a block that nothing takes back. No such block has it yet."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Nothing is held until a final block has the transaction, so asking early costs neither money nor the bounty."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "If the transaction was sent, wait for finality, up to twenty minutes on some networks, and send the same claim again."
        }
      ]
    },
    {
      "path": "/problems/settlement_predates",
      "title": "The purchase was made before the bounty",
      "summary": "A bounty rewards a purchase that is made because of it.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The settlement is in a block no later than opened_block of the bounty."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Your purchase stands as the door has it, and this claim held nothing."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Buy at the door now, while the bounty is open, and claim with that transaction."
        }
      ]
    },
    {
      "path": "/problems/settlement_unavailable",
      "title": "Payments cannot be settled at the moment",
      "summary": "No network, or not this one, can settle a payment at present; the answer says why.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The store could not settle a payment on this network: its node does not answer or is behind, the token is paused, the account that pays for gas is empty, or gas costs more than the payment brings. The detail and, where no network is left, left_out name the reason. The payment was turned away before anything was claimed. A network is taken in again by itself when its reason is over."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The authorization never left the store."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send the same payment again after Retry-After while its authorization is valid, or ask for terms without a payment and choose a network that stands in accepts; they fail separately."
        }
      ]
    },
    {
      "path": "/problems/sign_in_refused",
      "title": "The sign-in does not hold",
      "summary": "SIGN-IN-WITH-X is not what this store asked this wallet to sign for this operation. Nothing was charged.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "You signed in in place of paying, and reason says why that does not hold: reason Means invalid_siwx_header it cannot be read, there are two of them, or type is not what wallets of chainId sign with invalid_siwx_unsupported_chain no payments are taken on chainId invalid_siwx_nonce the nonce was not given out here for this operation, is older than five minutes, or was answered already invalid_siwx_message a member is not as the challenge has it; detail names it invalid_siwx_signature the wallet, or its contract, did not sign this message"
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. A sign-in moves no money, and nothing of any purchase was given."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Ask for fresh terms without a sign-in and sign what their sign-in-with-x says, exactly as it stands. What a sign-in opens, and for how long, is at sign-in/v1. Later than that, POST /api/claims/challenge gives a wallet back everything it bought."
        }
      ]
    },
    {
      "path": "/problems/signature_invalid",
      "title": "The request's signature is refused",
      "summary": "The request is signed as an agent's by Web Bot Auth, and the signature is not right; nobody has to sign.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Signature-Input has a signature of a caller, and reason says what is wrong with it: Reason Means malformed a field or a parameter is missing or is not what RFC 9421 and the draft ask for uncovered it covers neither @authority nor @target-uri, or not the member of Signature-Agent with its label unknown_component it covers something that is not known here stale, not_yet, too_long it has expired, is from the future, or holds for more than 24 hours unknown_key the directory was read and does not list the key forged the key did not make it over this request: method, host, path or a field is another than was signed replayed its nonce was used before own_host, agent_refused, test_key the directory is the store's own, lies where nothing is read, or the key is everybody's"
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The request was refused before anything of it was read, a payment included."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Sign anew, with a fresh nonce, for this host. Or leave Signature, Signature-Input and Signature-Agent out: an unsigned request is as good, and its limits are those of its address."
        }
      ]
    },
    {
      "path": "/problems/sold_out",
      "title": "Sold out",
      "summary": "None is to be had now. You were told before being asked to sign.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The last one went to somebody else, or the week's places are taken, or all that is left is held for payments that are not settled yet. Then the answer has held_until and Retry-After: a unit whose payment fails comes back by itself, by that time at the latest. A wallet holds one unit of a good at a time, for two minutes at most."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Stock is counted before the terms go out, and once more in the same step that would claim your payment."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "With held_until, ask again then. Without it, waiting does not help. Goods made by hand open again with the ISO week; reopens_at gives the time. Goods given once only are gone when they are gone, and /menu.json has the rest of the shelf."
        }
      ]
    },
    {
      "path": "/problems/stale_timestamp",
      "title": "The timestamp is too far from now",
      "summary": "A signed order is older, or newer, than 300 seconds.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Signatures are good for 300 seconds before and after their timestamp by the store's clock, so that nobody uses one that was overheard long ago."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. An old signature buys nothing."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Set the clock, sign anew with the time of sending, and send the same body under the same order_ref."
        }
      ]
    },
    {
      "path": "/problems/store_closed",
      "title": "The store is closed",
      "summary": "The ledger was restored from a backup and the keeper has not reopened the till.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "After a restore the store first reads the chains for sales made since the backup. Until that is done, nothing that was sent before can land any more, and the keeper says so, it sells nothing on that network. Networks are opened one by one, and a 402 names those that are left out. Pages and verification keep working."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Not by this request. Payments made before the restore are on the chain and are being found there."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Wait for Retry-After and try again. Hold on to any payment header and status token from before; they will be honoured."
        }
      ]
    },
    {
      "path": "/problems/target_held",
      "title": "The host is being read for another order",
      "summary": "A host is read for one unpaid order at a time. The answer says until when.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A reading is made before its payment is settled. So that nobody has a host visited again and again without paying, a host is read for one such order at a time, and a reading that was not paid for is kept for ten minutes. In that time only an order for exactly the same reading is taken, and it gets the one that was kept."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. It is said before the terms go out, and once more in the step that would claim your payment."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Come back after held_until. A reading that is paid for frees its host at once. If yours was the order that did not go through, ask for the same again with a fresh payment and you get what was read."
        }
      ]
    },
    {
      "path": "/problems/target_refused",
      "title": "The store does not read that address",
      "summary": "The URL is not https on the default port of a public host, or it carries credentials.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The store makes requests only to public https addresses, and checks again after the name is resolved. Private, loopback, link-local and reserved addresses are refused, and so are user names in a URL."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Addresses are judged before terms are offered, and no request was sent to this one."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Give the public https URL, without port or credentials. This answer is about our rules and not about the host."
        }
      ]
    },
    {
      "path": "/problems/transfer_failed",
      "title": "The transaction moved no money",
      "summary": "It is in a block, and it failed there.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A transaction that reverts is recorded on the chain, and changes nothing but who paid for gas."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "Not by this store. What the failed transaction cost in gas was taken by the chain, from whoever sent it."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Ask the door for a receipt that names the transaction that settled, or buy again."
        }
      ]
    },
    {
      "path": "/problems/unauthorized",
      "title": "A credential is missing or wrong",
      "summary": "This route needs a bearer token, and the one sent does not open it.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The token is missing, belongs to something else, or the thing it belongs to does not exist. The answer is the same in all three cases on purpose."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Reading a status is free and submits no payment."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send Authorization: Bearer with the status_token from your purchase answer. If it is lost, prove the paying wallet at POST /api/claims/challenge; that returns the whole purchase."
        }
      ]
    },
    {
      "path": "/problems/unknown_account",
      "title": "No account has this id",
      "summary": "The id in the path is of no account at the trade counter.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Accounts are made by the keeper. Their ids stand in the contract at /api/trade/contract."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. There is nobody to bill."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Correct the id. To have an account, write to the keeper at the address in security.txt; to try the counter out, use the account sandbox."
        }
      ]
    },
    {
      "path": "/problems/unsupported_media_type",
      "title": "The body has the wrong media type",
      "summary": "The Content-Type or Content-Encoding of the request is not one this route reads.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "Routes with a body read JSON. Yours was labelled as something else, or as compressed. A body without a label is read as JSON."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The label is read first and the body was not opened."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send Content-Type: application/json, or no such field, and JSON to go with it, without a Content-Encoding."
        }
      ]
    },
    {
      "path": "/problems/upstream_failed",
      "title": "The service behind the good gave no answer",
      "summary": "The good is the answer of a service behind the store, and that gave none that could be sold.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The store asked the service that makes this good. It did not answer in time, said no, or sent something that is not what was promised, such as a page of HTML or more bytes than are taken. detail says which, in the store's own words: what the service sent instead is shown to nobody."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The service was asked before your payment was settled, so nothing was taken. For goods that are asked for after the payment the store tries again for an hour, and what cannot be had by then is owed back."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Sign a new payment if you still want it, later rather than at once: the service may be down. Look at your inputs if detail says that it refused them."
        }
      ]
    },
    {
      "path": "/problems/url_missing",
      "title": "No URL was given",
      "summary": "The body holds no url, or it is not JSON.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The instruments read one address, which they take from the member url of a JSON object; a batch takes a list of them from urls. There was none, it was empty, or the body could not be read as JSON."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. Reading is free, nothing was read, and no budget was spent."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Send {\"url\": \"https://…\"} with Content-Type: application/json."
        }
      ]
    },
    {
      "path": "/problems/url_unparseable",
      "title": "The text is not a URL",
      "summary": "The member url holds something that is no absolute URL with a host.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "The text in url could not be read as an absolute URL with a host, or it is longer than 2048 characters."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The refusal came before anything was read and cost nothing, not even a use of the budget."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Give the whole address as a buyer would request it, beginning with https://."
        }
      ]
    },
    {
      "path": "/problems/word_already_retired",
      "title": "The word is already retired",
      "summary": "Somebody was earlier; the word rests on the register.",
      "parts": [
        {
          "at": "what-happened",
          "title": "What happened",
          "text": "A word can be retired once, and this one has been. Upper and lower case count as the same word."
        },
        {
          "at": "were-you-billed",
          "title": "Were you billed",
          "text": "No. The register is consulted before the terms are sent and again before your payment is claimed."
        },
        {
          "at": "what-to-do-next",
          "title": "What to do next",
          "text": "Look at /retired-words, choose a word that is still working, or leave detail out and let the keeper choose."
        }
      ]
    },
    {
      "path": "/running",
      "title": "Running a store",
      "summary": "How a keeper makes a store of their own, runs it, backs it up and moves it.",
      "parts": [
        {
          "text": "A store is one program, one folder of sources and one configuration file. This page is for who keeps one; buyers need nothing of it."
        },
        {
          "at": "in-four-commands",
          "title": "In four commands",
          "text": "store init shop && cd shop # an empty shop: asks for name, address, networks, pay_to; or takes them as flags store key init # identity, log, git and webhook keys, the till's secret: var/keys, mode 0600 $EDITOR store.toml # your address, networks and pay_to; relayer.key a store demo shows the whole of it on local chains first, with no money and no keys of yours. A shop begins with one example good and one page. store new good ID writes the next one, and the reference of goods explains every key; with -demo DIR it stands on the chains of a running store demo -dir DIR. What a shop has nothing for, such as a publication, a directory or a porch, has no address and stands in no list. The desks where strangers write are off until lines below [parts] in content/site.toml turn them on: guestbook, letters, stamps, bell, requests, bounties. A store that is not on a loopback address refuses the specimen's key and whatever texts came with the program, and names their files. store doctor looks at keys, networks, gas, clock, address, proxy, disk and backups, and says of each fault what mends it; it exits with 3 while there is one, and may run beside the store."
        },
        {
          "at": "recipes",
          "title": "Recipes",
          "text": "To Read put the programs on a machine Install have it started at boot, and backed up each night As a service run it in Docker or Podman In a container have TLS, or stand behind Caddy or nginx TLS and proxies put a content network or static hosting in front A content network, an object store run several processes PostgreSQL lose nothing Backup and restore walk doors and keep a record The census see what waits in a browser The desk answer orders, pay back, compare the books Orders and what is owed know what payments may cost, and change keys Payments, nodes and keys be found by agents Listings go to a new release Upgrades"
        },
        {
          "at": "configuration",
          "title": "Configuration",
          "text": "Every key, with its meaning, has a page of its own, and store config prints the same as one file. Unknown keys are refused."
        }
      ]
    },
    {
      "path": "/running/backup",
      "title": "Backup and restore",
      "summary": "A verified file a night, a drill, and what happens after a loss.",
      "parts": [
        {
          "text": "mkdir -p backups store backup backups/backup-$(date -u +%Y%m%dT%H%M%SZ) rsync -a backups/ other-machine:store-backups/ store restore -dry-run backups/backup-20261129T023000Z The backup is read back before it gets its name, and says entries, bytes and verified. The units do it each night and keep two weeks. Copy var/keys once, by hand, to where nobody else reads it: a backup holds no keys. The drill says what a restore would come to and changes nothing; do it once a month. After a loss: systemctl stop store # restore refuses a ledger that a process has open store restore backups/backup-20261129T023000Z systemctl start store store keeper reopen -wait"
        },
        {
          "at": "backup",
          "title": "Backup",
          "text": "store backup FILE while the store runs. Keep high_water on another disk: it holds what must never be given twice. A store that has sold does not start without it. If it is lost, store keeper high-water rebuild (-dry-run to look first) makes it from what ledger and chains know, and says how many payments it knows nothing of."
        },
        {
          "at": "restore",
          "title": "Restore",
          "text": "store restore -dry-run FILE is the drill: it restores into a ledger that is thrown away, reads chains and high-water files as the restore does, and says what would come of it. store restore FILE fills an empty ledger and leaves the store closed, reads the chains and the high-water files for what happened since, and prints it. Name the files of further processes with -high-water FILE, once for each. Lines that cannot be read are told and stop it, until -skip-unreadable. store keeper reopen opens it, network by network (-network): each as soon as nothing that was sent before can land any more, about eleven minutes after the restore at the depth that is final. It says until when; -wait waits. Until then buyers get store_closed, or other networks."
        }
      ]
    },
    {
      "path": "/running/cdn",
      "title": "A content network in front",
      "summary": "What is published are files: a network serves them, and what is bought goes on to the store.",
      "parts": [
        {
          "at": "which-paths",
          "title": "Which paths",
          "text": "public/current/ is served by any network or static host as it stands. What the store must answer itself: Path Goes to /api/*, /mcp*, /a2a, /try, /badge/*, and what answers no-store the store, never kept /search with a query, /guide, /corpus/diff.json the store pages with several forms at one address, told by Vary: Accept the store, or kept by Accept everything else the files public/current/_headers has the header fields of every file for a network that reads it; Cache-Control says of each how long it may be kept, and what never changes says immutable. Do not let a network take off PAYMENT-REQUIRED, PAYMENT-SIGNATURE, PAYMENT-RESPONSE or Authorization, or rewrite bodies: they are signed. The header of a 402 has up to 16 KiB: nginx must be told so. [server] trusted_proxies = [\"203.0.113.0/24\"] # the network's own ranges, as it publishes them"
        },
        {
          "at": "see-that-it-works",
          "title": "See that it works",
          "text": "curl -sSI https://shop.example/menu.json | grep -i cache-control curl -sSI https://shop.example/api/buy/small_blessing | grep -i -E 'cache-control|payment-required' The first says public, max-age=300, the second no-store and the terms."
        },
        {
          "at": "publishing",
          "title": "Publishing",
          "text": "store build renders a new tree beside the one that is served and moves the pointer public/current to it; a store that runs takes pages and prices up together within a second, and one that starts between an edit and a build sells what its tree says (var/sources keeps that, pools included: it is private). A content network gets public/current/. store publish REPOSITORY makes one SSH-signed commit that git verify-commit accepts; store publish s3://BUCKET/FOLDER brings the tree to an object store (-endpoint where it is not Amazon's, keys as in AWS_ACCESS_KEY_ID or ~/.aws/credentials): only what changed is sent, heads come last, and one that was ended early is ended by the next. The folder must be the tree's alone, and security headers are for the network before it (_headers). store watch shows pages while you write, and what is wrong with them."
        }
      ]
    },
    {
      "path": "/running/census",
      "title": "The census and the record",
      "summary": "Walking the doors that are known once a week, and sealing what was seen.",
      "parts": [
        {
          "text": "store census -h store census # walks what is due, and seals the week's round store stamp && store witness # proofs of time, cosignatures store build The sources of doors are the [census] table of the configuration, one door a line in the file of list. curl -sS 127.0.0.1:4020/api/why/door.example says of a host why it is walked or not. Timers for census and stamp come with the units; or set seal_hour, and the serving process does it."
        },
        {
          "at": "census",
          "title": "Census",
          "text": "What arrives in USDC at the addresses that doors advertise is counted on every network that you sell on, and on those of [[arrivals]], where nothing is sold: [[arrivals]] id = \"eip155:480\" # World Chain rpc = [\"https://rpc.example/world\"] genesis_hash = \"0x…\" # block 0, from a node that you believe Any network will do whose USDC the stock client or store buy knows. One without a table is named in the round as not read. store census walks what the sources name and seals the week's round. Started in several places it shares the work; killed and started again it goes on. A week that was not sealed may be sealed later with -week, until a later one is, or for thirteen weeks. store census -walk-only needs no key of the record, so walkers may stand on other machines with a PostgreSQL ledger. Hosts that declare themselves are walked at every full hour (-hourly, or hourly in the configuration) until the round is sealed; the first firing of a week makes its roster. So seal on the last day of the week: who declares after the seal waits for the next. With seal_hour one process of store serve does it, and has the round stamped and cosigned; a Sunday on which nobody served is made up for until the next. Without it let a timer run store census. GET /api/why/ and a host says why it is walked or not. The order of walking, and whom a cap leaves out, is drawn by lot: once the sources are read the roster is closed, by an observation in the log that fixes the Bitcoin block two beyond the newest, and walking begins when that is there, some twenty minutes later. Its header stands in the round, so that store verify draws the same lot. Blocks are read from timestamps.headers or two of timestamps.explorers; where none can be had in two hours the lot is the census's own, and two such rounds in a row make the later one suspect. Rows of hosts that were declared after the closing say late. -dry-run says of each host what it would do. A shop on loopback walks doors on its own machine by store census -rehearse, which prints a report and seals nothing. A walker at another place (store key walker there, store key walker -admit here, census.walkers) finds its roster in the folder vantages, walks it there by store census -vantage FILE, and what it saw is put beside the roster before the seal. Where the places disagree the row is not_ready, by fault of the path."
        },
        {
          "at": "proofs-of-time-and-witnesses",
          "title": "Proofs of time and witnesses",
          "text": "After a census run store stamp, and again now and then until it says that nothing is pending: it hands each round in at two or more OpenTimestamps calendars and fetches the proofs once a Bitcoin block holds them, with the block's header from your own node's file or from two explorers that agree. store witness shows the head of the log to the configured witnesses and keeps their cosignatures; it says SPLIT VIEW, and exits with 3, when one of them has seen another history of this log. Both cover the record anew; build and publish afterwards. A witness with mirror = true takes the leaves too (c2sp.org/tlog-mirror) and signs once it holds them: store witness gives it what it lacks, and store publish -mirror URL, with its submission prefix, does so behind each publication. /corpus/log-list is the entry to send to who runs a witness or a mirror. A list never changes a key: after a handover of the log's key write to them."
        },
        {
          "at": "withdrawing-a-text-or-evidence",
          "title": "Withdrawing a text or evidence",
          "text": "What strangers wrote (retired words, standing notes, the titles and names of tips) stands in the log as salted digests alone, its text in words/SHA256.json of the record. store keeper withdraw SHA256 -reason \"…\" (-dry-run to look first) says on the record that it is taken off; the next store build removes the file, and pages say [withdrawn]. The same verb takes out what a walk was judged by, named by the evidence_digest of its row: the row, its verdict and the digest stay."
        },
        {
          "at": "correcting-a-row",
          "title": "Correcting a row",
          "text": "A row that says what it should not stays as it was signed; an erratum beside it says what it should have said. store keeper erratum LEAF -reason \"…\" (-dry-run to look first) says that it should have told of no observation, as where your own line was down; with -battery v2 what is kept of the walk is judged again by that battery, and the erratum says what comes of it; with -walk N it rests on observation N, a paid walk at that door in that week, and says ready. The leaf of a row stands beside its week in /corpus/host/HOST.json. After the next store build the host's page, its tier, every count and the monitor of whoever follows the host go by the erratum and show both. Of several for one row the last counts. With -cause, a word of /corpus/errors such as own_timeout, the verdict was false by a fault of yours: the erratum is of kind instrument_error, rests on -battery or -walk, and is counted on that page for ever. A seller's note is a reason to look, and corrects nothing. When a battery changes, store census rejudge judges every row of an older one again over what is kept of its walk, by the newest battery or the one of -battery, and puts each verdict that was false on the record with its cause. A row that was ready by a battery that asks for less was no error, and stays. It prints what moved (-json too), puts nothing twice however often it is started or killed, and -dry-run changes nothing and exits with 3 where something is to be corrected; 1 is a failure. store build afterwards."
        }
      ]
    },
    {
      "path": "/running/container",
      "title": "In a container, with Docker or Podman",
      "summary": "An image of one file, without root and read-only but for the folder of the shop.",
      "parts": [
        {
          "at": "build",
          "title": "Build",
          "text": "The sources have the recipe. docker may stand wherever it says podman: podman build -t store -f cmd/store/deploy/Containerfile ."
        },
        {
          "at": "a-shop",
          "title": "A shop",
          "text": "mkdir site podman run --rm -it --userns keep-id:uid=65532 -v ./site:/var/lib/store:Z store init /var/lib/store podman run --rm --userns keep-id:uid=65532 -v ./site:/var/lib/store:Z store key init podman run --rm --userns keep-id:uid=65532 -v ./site:/var/lib/store:Z store new good poem podman run --r Before build, write the good's files and a first page of your own (site/content/pages/index.md), delete the example (site/content/shelf/example.md, site/var/stock/texts/example.md), and put the key that pays for gas into site/var/keys/relayer.key, mode 0600: inside of a container the store can be reached, and one that can be does not sell the example. With Docker, give the folder to the user of the image, sudo chown 65532:65532 site, and leave out --userns and :Z."
        },
        {
          "at": "run",
          "title": "Run",
          "text": "podman run -d --name store --read-only --cap-drop all --security-opt no-new-privileges \\ --userns keep-id:uid=65532 -v ./site:/var/lib/store:Z -p 127.0.0.1:4020:4020 store curl -sS http://127.0.0.1:4020/menu.json | head -c 60 Inside of a container 127.0.0.1 is the container alone, so that the listen of store init would not be reached by -p: the image serves with -listen 0.0.0.0:4020 whatever store.toml says. Who may connect is said by -p; with 127.0.0.1: before the port that is this machine, where a proxy speaks TLS. The proxy's connections then come from the container network's gateway: [server] trusted_proxies = [\"172.16.0.0/12\", \"10.88.0.0/16\"]"
        },
        {
          "at": "backup",
          "title": "Backup",
          "text": "podman exec store /store backup /var/lib/store/backup-$(date -u +%Y%m%dT%H%M%SZ) There is no shell in the image; podman exec store /store keeper today says what waits, and the desk listens inside of the container alone. podman stop -t 100 store gives purchases under way the time to end."
        }
      ]
    },
    {
      "path": "/running/desk",
      "title": "The desk in a browser",
      "summary": "What waits for the keeper, in a browser on this machine or through a tunnel.",
      "parts": [
        {
          "text": "The desk is on by default and listens on loopback alone. store serve prints a link at its first start; it opens the desk once, within fifteen minutes, and signs this browser in for twelve hours. After that: store keeper token # prints what opens the desk The token is the file var/keys/desk.token, mode 0600, made when the desk is first served; a changed file ends every session. From another machine: ssh -L 4022:127.0.0.1:4022 shop.example # then open http://127.0.0.1:4022 A proxy of your own that speaks https is named by hosts: [desk] listen = \"127.0.0.1:4022\" hosts = [\"desk.shop.example\"] listen = \"off\" turns it off. Where the port is busy the store sells without the desk, and says so in the log and in store doctor. Money leaves by the command line alone; a bounty promises some, within the bounds of the board."
        }
      ]
    },
    {
      "path": "/running/install",
      "title": "Install",
      "summary": "From an archive of a release to a shop that answers, and the files that it is made of.",
      "parts": [
        {
          "at": "the-programs",
          "title": "The programs",
          "text": "A release is one archive a platform, with store, devnet (the local chains), check, verify, the verifier for browsers and the units of systemd. Check it and put it where the units look: sha256sum --check --ignore-missing SHA256SUMS tar -xzf store-*-linux-amd64.tar.gz sudo install -m 0755 store-*/store store-*/devnet store-*/check store-*/verify /usr/local/bin/ sudo mkdir -p /usr/local/share/store && sudo cp -r store-*/verifier /usr/local/share/store/ store version sha256sum prints store-…-linux-amd64.tar.gz: OK. Whoever signed the release is checked by ssh-keygen -Y verify."
        },
        {
          "at": "a-shop",
          "title": "A shop",
          "text": "sudo mkdir -p /var/lib/store && sudo chown \"$USER\" /var/lib/store store init /var/lib/store && cd /var/lib/store store key init $EDITOR store.toml store build && store doctor store serve store init asks one question after the other and checks each answer; -base-url, -name, -networks, -pay-to and its other flags answer without being asked. store doctor prints a line for each thing that it looked at, ok, warning or fault first, and behind the arrow what mends it. store serve says serving with the address. Then let systemd or a container run it, and put a proxy or its own TLS before it."
        },
        {
          "at": "what-is-where",
          "title": "What is where",
          "text": "File or folder Holds store.toml the configuration, key by key content/ pages, goods and pools: what you write var/keys/ keys and tokens, mode 0600: copy it once to where nobody else reads it var/ the ledger, uploads, built trees public/current the tree that is served, which store build replaces as a whole corpus/ the signed record, where there is one"
        },
        {
          "at": "pages-of-your-own",
          "title": "Pages of your own",
          "text": "content/pages/<name>.md is served at /<name>; with nav = \"word\" in its front matter it has a row in the header. A dead link within the site, raw HTML or a picture that is not there fails the build with file and line."
        }
      ]
    },
    {
      "path": "/running/keeping",
      "title": "Orders and what is owed",
      "summary": "The keeper's verbs: what waits, answers, bounties, sales, books, and paying back.",
      "parts": [
        {
          "text": "store keeper today store keeper orders store keeper help store keeper VERB -h shows what a verb takes; whatever signs or sends takes -dry-run first."
        },
        {
          "at": "orders",
          "title": "Orders",
          "text": "Every verb of store keeper answers with a short table or a sentence, and with -json with all that it knows, a line of JSON for each of a list; store keeper VERB -h lists its flags and what it prints. store keeper today prints what waits for you, and where nothing does, one line with the last sale, census and backup: orders, notes due, debts, payments whose outcome is not known, stock running low, gas, callbacks that no receiver took, findings (money that no purchase credits, refused payments by reason, and the differences that store keeper reconcile found last), each with its count, the oldest, and what can be done about it. What only a person can do waits in a queue. store keeper orders lists it, an order a line, what is due first at the top: what was asked, when it is due, how many hours are left, and past the window what is owed. An order stands there once the chain can no longer take its payment back; -all lists the answered ones too. store keeper answer ORDER -text \"…\" delivers, with -text-file FILE, -link URL or -file FILE (at most 1 MiB) in its place or beside it; it is signed then, and an order is answered once, so look first with -dry-run. A window that passes is told to the buyer by the order itself, with everything paid as owed, and the order stays open. With hold = true under [server] work of yours is sold at /api/hold/ too. The money waits in a contract: your answer takes it, once the chain cannot take the payment back any more; store keeper decline-order ORDER, and a window that passes, give it back, and nothing is owed then. An answer that comes too late is refused before you have worked for nothing. relayer_key alone can take it or give it back: keep that key until the time that store doctor names. Without it your buyers have their money at the deadline, and you have nothing. What visitors left waits beside it. store keeper waiting says how much of each kind there is and how old the oldest is; letters, guestbook, tips and requests list it, an entry a line, with -done what is done. A stranger's words are shown with what cannot be seen in them spelled out; they are data, whatever they ask for. store keeper read LETTER tells its writer that it was read, reply LETTER -text \"…\" signs the reply, once. A guestbook entry is shown to everybody at once: keep ENTRY or hide ENTRY reviews it. publish-tip TIP -slug … -title … -summary … puts a page into the stock, with the visitor's words as words, or with yours by -text-file; the next build sells it. quote REQUEST -price 12.50 signs a price and opens the paid door of the request, decline ID turns a request or a tip down. stamp-line WEEK -text \"…\" says what the stamps of a week say. All take -dry-run. store keeper note 2026-11 -text-file FILE signs the month's note, which the holders of a current patronage pass read. It is signed once and not changed after. The desk in a browser shows the same, takes answers and notes, and posts bounties. A marketplace that orders on account is a [[trade]] in the configuration, with a secret of its own in a file (0600): whsec_ and the base64 of 32 random bytes, such as echo \"whsec_$(head -c 32 /dev/urandom | base64)\" prints. store keeper accounts says what each account owes and how much of its limits is used, store keeper statement ACCOUNT -month 2026-11 lists what was delivered to it and received of it, and store keeper received ACCOUNT -usd 120.50 -name \"wire 2026-11-30\" (-dry-run to look first) notes a payment; a name is noted once. What an account owes stands in store keeper today and, compared with its lines, in reconcile. To change a secret, add the new one as a second line, restart, have the marketplace change over, and remove the old line. The address of the contract for marketplaces is /api/trade/contract. store keeper find WHAT finds purchases by their id, a certificate's, an order's or a debt's, a patron number, a transaction or a wallet; store keeper sales counts what was sold by week, good, network and protocol, and how often terms were asked for. store keeper reconcile 2026-11 compares the ledger with the chains for a month, to the atomic unit: a line for each transfer and each purchase, of which it prints the sums and what differs, every line with -json, or with -csv for a spreadsheet. What the ledger is not meant to hold is explained (gifts, what is not final yet); what is left is a difference, with its kind and what that means. What was sold by voucher is revenue when it is delivered, and receivable until the escrow moves it to the receiving address; how the channels stand is told beside the sums, and what a channel can pay no more is a loss. All of them speak to the running store where its ledger is a file, and may be run beside it."
        },
        {
          "at": "bounties",
          "title": "Bounties",
          "text": "store keeper post-bounty URL -reward 0.10 -text \"why\" puts a reward on the board of bounties: the door is read now, and its terms are what a purchase is compared with. It is open for seven days; a reward is at most 0.25 USDC, all rewards of a week 10 USDC, and a registrable domain is paid once a week. Who bought there claims with the transaction, which is read from a final block, and gets an authorization that anybody may redeem. A claim that was taken stands as a paid walk on the host's page. store keeper bounties lists them, with the claimants' own words, which nobody else reads; store keeper today says when the account that pays is short, when a payout would fail, and when the lists of addresses that nothing is paid to cannot be read: until they can, nothing is paid. bounties.key is of an account of its own, since the serving process signs with it: put no more there than a week or two may cost."
        },
        {
          "at": "what-is-owed",
          "title": "What is owed",
          "text": "The store watches what arrives. A payment that no purchase credits is owed to its payer, who finds it at POST /api/claims; store keeper owed lists it, and what was too little for any good as totals of the day. Launch checks buy at strangers' doors for whoever pays for it: give launch.key an account of its own with a few USDC on each network that you sell on. One purchase costs at most 0.05, launch.daily bounds what all cost within 24 hours (exactly, over replicas), and at one host nothing is bought twice in that time. A payment is signed once and kept in the ledger, whatever dies; what a purchase came to is read on the chain when that is final. store keeper today says when the wallet runs low (store_launch_wallet_usdc, store_launch_checks_total); empty, or without a key, nothing of it is sold. An order at whose door nothing could be bought is among the debts. What is owed is paid back by the command line alone. store keeper debts lists it: refunds, and orders past their window, each with all that was paid. store keeper pay DEBT signs an authorization (EIP-3009) with payouts.key, which store serve never reads; its creditor finds it at /api/verify/DEBT and has the token pay it within thirty days. Its number is the debt's for ever, so that signing it again pays nobody twice, not even after a restore; -dry-run says what would happen, and whether the account has enough. Expired, it is signed again by the same words. Where a token knows no authorizations, and on Solana, pay by hand and note it with store keeper paid DEBT -tx TRANSACTION."
        }
      ]
    },
    {
      "path": "/running/listings",
      "title": "Listings",
      "summary": "Files that are ready for the directories in which agents look for stores: what each is for, and where you send it.",
      "parts": [
        {
          "text": "A build makes these files from the shelf, the publications and content/site.toml, so that they say what the store sells today. The store sends none of them anywhere: a listing is a promise in your name. Send them when the store answers at its own address, and again when prices or goods have changed. File For Where it goes /listings/server.json the MCP Registry, from which MCP clients and other catalogues take servers: the door /mcp mcp-publisher login dns or http, then mcp-publisher publish, in a folder with the file /listings/mpp.json the services of mpp.dev, where clients of MPP look for what they can pay a pull request to tempoxyz/mpp: the object is a further entry of services in schemas/services.ts /listings/PAY.md pay-skills, which the command pay and its agents search a pull request to solana-foundation/pay-skills: providers/OPERATOR/NAME/PAY.md, NAME as in the file, with a copy of /openapi.json beside it /listings/a2a-directory.md the A2A Directory, a list that people and models read a pull request to sing1ee/a2a-directory: a line of the table under Tools in README.md What each of them wants of you: MCP Registry. The name begins with your host, reversed, and the registry asks for a proof of it: a key whose public half stands in a DNS record or at /.well-known/mcp-registry-auth. Make one for this alone. Never give mcp-publisher a key of the store: what it signs is not the store's word. The version is that of the API; a version is published once. The registry is a preview and may forget. mpp.dev. The first price of a good stands there; its 402 has the higher ones. Those who look after the list compare the prices with the 402s. pay-skills. Every paid door has to take USDC on Solana, so sell there first (/running/money). Before the pull request pay catalog check PAY.md reads the file and probes the doors. A2A Directory. The line names the card at /.well-known/agent-card.json, which is signed. Nothing is checked; say only what the card says. What needs no hand of yours: /discovery/resources and the bazaar extension in every 402 for catalogues of x402, /.well-known/ai-catalog.json and the server cards, /.well-known/agent-skills/index.json, /.well-known/ucp, /llms.txt."
        }
      ]
    },
    {
      "path": "/running/money",
      "title": "Payments, nodes and keys",
      "summary": "Where the money goes, what limits it, and what holds when a node lies.",
      "parts": [
        {
          "at": "money",
          "title": "Money",
          "text": "The relayer's key holds gas only. pay_to is a cold address whose key the store never sees, one per store. On Solana the relayer is the fee payer, an ed25519 key file as solana-keygen new -o writes it (mode 0600), and its balance is counted in lamports: 0.05 SOL is enough for some thousand sales. pay_to receives USDC in a token account that somebody has to make once. While it does not exist the network is left out, and the log names the command that makes it; one that is closed or frozen later is left out with that reason."
        },
        {
          "at": "open-payments",
          "title": "Open payments",
          "text": "A wallet has at most eight payments under way, and only as many as its balance covers; smart wallets together have 32. Who is beyond that waits up to five seconds and is then asked to come back with the same payment. Counted goods are held for two minutes at most, one of a good to a wallet, and what is held is told as held (held_until)."
        },
        {
          "at": "two-nodes",
          "title": "Two nodes",
          "text": "With two addresses in rpc no single node is believed about what cannot be taken back: that a payment is dead, and that one of 1 USDC or more is paid. When one of them has been silent for ten minutes, the other's word decides once it is final, and the log says so as an error."
        },
        {
          "at": "settling-for-others",
          "title": "Settling for others",
          "text": "store facilitator settles other sellers' x402 payments: POST /verify, POST /settle and GET /supported, as stock sellers ask them. It is off until [facilitator] names an address and the accounts it settles for. What it sent is in its ledger, so the same payment again is answered with the same settlement, after a crash too. Each settlement costs your gas: the limits of [gas] hold for it, and a payment must bring twice what settling it costs. Where a network has the escrow of vouchers, /supported has batch-settlement too: sellers with a receiverAuthorizer of their own have deposits made, claims, settlements and refunds sent, each one transaction and answered by what the escrow's events say. Nothing is signed for them; a claim must bring that much for each row, and a channel four times as much for each of its refunds. Where a network has the escrow of holds, /supported has auth-capture. Its captureAuthorizer is your first relayer account; sellers put it into their terms beside a receiverAuthorizer of their own, and no fee. A buyer's payload is authorized. capture, of a part or of all, also with a voidAuthorizerSignature, and void are sent when the receiverAuthorizer has signed them and the hold is as the order expects, each once. A refund would be paid out of your account, so it is refused, and the seller sends it himself. captureDeadline is at most 30 days away, and nothing is captured in its last ten minutes. Only that account can capture: keep its key until the last deadline, or buyers take their money back by reclaim. An authorization must bring four times, and a capture twice, what a payment must. Authorizations and voids are paid for by what their receiverAuthorizer has captured before; those who have captured too little share 256 settlements' gas a day for each account on your list. Give it a configuration and relayer accounts of its own, or share one PostgreSQL ledger with the store."
        },
        {
          "at": "keys",
          "title": "Keys",
          "text": "store key handover -reason … makes a new identity; the old one signs that it follows. Retired keys keep verifying. -purpose log hands the log over: the old key signs the last head of the record that is its own (-config says where that is), and from then on what still runs with the former ring writes nothing until it is restarted."
        }
      ]
    },
    {
      "path": "/running/postgres",
      "title": "PostgreSQL, and several processes",
      "summary": "The ledger in a database, for any number of processes of one store.",
      "parts": [
        {
          "at": "a-role-and-a-database",
          "title": "A role and a database",
          "text": "create role store login password 'a long random one'; create database store owner store; revoke all on database store from public; The owner of the database makes the tables at the first start: kv and kv_turn. Where another role owns it, the store needs grant create, usage on schema public to store once. ledger_file = \"var/keys/ledger.dsn\" umask 077; echo 'postgres://store:PASSWORD@db.internal:5432/store?sslmode=verify-full' > var/keys/ledger.dsn store doctor With the password in a file of mode 0600 and not in store.toml. store doctor says under ledger what it found. A server with fsync or synchronous_commit off is refused: what is paid must be on a disk. A pooler in front must keep sessions together (pool_mode = session)."
        },
        {
          "at": "from-a-file-to-postgresql",
          "title": "From a file to PostgreSQL",
          "text": "store backup var/move.backup # while it runs; then stop it, and make no sale in between store restore var/move.backup # with the new ledger in store.toml store keeper reopen -wait"
        },
        {
          "at": "backup",
          "title": "Backup",
          "text": "store backup works the same with both engines. pg_dump of a running database is consistent too, but store restore reads only its own."
        },
        {
          "at": "ledger",
          "title": "Ledger",
          "text": "bolt:FILE for one process. postgres://… for any number; a server with fsync or synchronous_commit off is refused."
        },
        {
          "at": "replicas",
          "title": "Replicas",
          "text": "Replicas share the ledger, keys.secret, the keys and the published tree. What is due is done by one of them at a time, which has it for seconds, so any may die. Each process has a high_water file of its own and locks it; a second one on the same file does not start."
        }
      ]
    },
    {
      "path": "/running/proxy",
      "title": "TLS, and behind Caddy or nginx",
      "summary": "The store speaks TLS by itself, or a proxy does and is believed about who calls.",
      "parts": [
        {
          "at": "by-itself",
          "title": "By itself",
          "text": "listen = \"0.0.0.0:443\" [tls] storage = \"var/tls\" The store gets and renews a certificate (ACME), speaks HTTP/2 and sends plain HTTP on."
        },
        {
          "at": "behind-caddy",
          "title": "Behind Caddy",
          "text": "shop.example { reverse_proxy 127.0.0.1:4020 } listen = \"127.0.0.1:4020\" [server] trusted_proxies = [\"127.0.0.1/32\", \"::1/128\"] Caddy sets X-Forwarded-For itself and drops what a caller brings. caddy validate --config /etc/caddy/Caddyfile says Valid configuration."
        },
        {
          "at": "behind-nginx",
          "title": "Behind nginx",
          "text": "server { listen 443 ssl; server_name shop.example; ssl_certificate /etc/letsencrypt/live/shop.example/fullchain.pem; ssl_certificate_key /etc/letsencrypt/live/shop.example/privkey.pem; client_max_body_size 2m; large_client_header_buffers 8 32k; proxy_buffer_size 64k; The same trusted_proxies as behind Caddy. X-Forwarded-For is set and not added to, so that no caller writes its own. Terms and payments are header fields, which are longer than nginx takes by default: without the four lines about buffers it answers 502 in place of a 402. A purchase waits for a block: a proxy must wait a quarter of a minute longer than server.settle_wait. nginx -t says test is successful."
        },
        {
          "at": "see-that-it-works",
          "title": "See that it works",
          "text": "store doctor curl -sSI https://shop.example/api/buy/small_blessing | head -1 It prints HTTP/2 402, and store doctor says under proxy whether the address of the caller arrives. Under controllers it prints the DNS record _controllers. by which others see that the store's key signs for its host, and says whether it is there. Without trusted_proxies all callers are one: its limits are those of everybody."
        },
        {
          "at": "serving",
          "title": "Serving",
          "text": "store serve answers purchases, verification and claims, and serves public/ when no CDN does. Put TLS in front, or give [tls] a folder: then the store gets and renews a certificate by itself (ACME), speaks HTTP/2, and sends plain HTTP on. A certificate of your own goes into certificate and key; SIGHUP takes up replaced files, and store key tls makes one for trying. SIGTERM finishes the purchases under way; what a crash leaves is taken up at the next start."
        }
      ]
    },
    {
      "path": "/running/s3",
      "title": "Publishing to an object store",
      "summary": "The signed tree in a bucket of S3 or of what speaks like it.",
      "parts": [
        {
          "text": "export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… store publish s3://my-shop/site -region eu-central-1 store publish s3://my-shop/site -endpoint https://s3.example.net # not Amazon's It prints how many files were sent, how many stood there already and how many went. Only what changed is sent, and heads come last, so that a reader never sees a head without what it names. With -region the keys need four rights in that folder and no other (without it s3:GetBucketLocation as well): {\"Version\": \"2012-10-17\", \"Statement\": [ {\"Effect\": \"Allow\", \"Action\": [\"s3:GetObject\", \"s3:PutObject\", \"s3:DeleteObject\"], \"Resource\": \"arn:aws:s3:::my-shop/site/*\"}, {\"Effect\": \"Allow\", \"Action\": \"s3:ListBucket\", \"Resource\": \"arn:aws:s3:::my-shop\"}]} Nothing in the tree is private: the ledger, the stock and var/ are not in it. Let a timer publish after each build, or run it by hand."
        }
      ]
    },
    {
      "path": "/running/service",
      "title": "As a service, with systemd",
      "summary": "Units for the store and its nightly backup, written for your shop and turned on by three commands.",
      "parts": [
        {
          "at": "install",
          "title": "Install",
          "text": "cd /var/lib/store sudo store install-service -dry-run # prints the units, writes nothing sudo store install-service It writes store.service, and a service with a timer each for backup, census and stamp, into /etc/systemd/system, with the paths of this program and this shop and the user store (-user for another). Units of these names that differ are left alone until -force. Then it says what turns them on: id store || sudo useradd --system --home-dir /var/lib/store --shell /usr/sbin/nologin store sudo chown -R store: /var/lib/store sudo systemctl daemon-reload sudo systemctl enable --now store.service store-backup.timer systemctl status store.service status says active (running). journalctl -u store -f follows the log; the first start names the link to the desk. A store that keeps a record enables store-census.timer and store-stamp.timer too, unless seal_hour is set."
        },
        {
          "at": "backups",
          "title": "Backups",
          "text": "store-backup.timer runs at 02:30 UTC and writes backups/backup-… beside store.toml. Those older than two weeks are removed after a new one was written and read back, so a failing backup deletes nothing. Copy them to another machine; Backup and restore has how."
        },
        {
          "at": "change-and-stop",
          "title": "Change and stop",
          "text": "systemctl reload store takes up server.log_level and renewed certificates; everything else is for systemctl restart store, which finishes the purchases under way first. systemctl disable --now store.service store-backup.timer ends it. The units leave the store its folder and nothing else: no other home, no devices, no new privileges. Where the shop lies elsewhere than in /var/lib/store, install-service names that folder in ReadWritePaths."
        },
        {
          "at": "watching",
          "title": "Watching",
          "text": "debug_listen serves /metrics, /healthz (the process answers), /readyz (buyers can be served, or why not), /debug/pprof and /debug/log-level on loopback. A dashboard for Grafana and alert rules for Prometheus are in cmd/store/deploy, beside systemd units with their timers and a Containerfile; systemctl reload (SIGHUP) takes up a changed server.log_level and the files of tls.certificate and tls.key, everything else is for the next start. store version says what runs, store completion bash and store man help to type. Watch store_relayer_gas_low: when the relayer cannot pay for a settlement, nothing is sold on that network, and the log names the address to fund and how much. A network that cannot settle (node down or on another chain, token paused, no coin_price) is left out of the terms with its reason and taken in again by itself; it never stops the start. store_task_late_seconds says how late due work is begun, such as the look at a purchase that lies: beyond a few seconds the store has more of it than it can do."
        }
      ]
    },
    {
      "path": "/running/upgrade",
      "title": "Upgrades",
      "summary": "The new program on the same files, and the way back.",
      "parts": [
        {
          "text": "store backup backups/before-upgrade sudo install -m 0755 store-*/store /usr/local/bin/store store build && sudo systemctl restart store store doctor The changelog of the release says what else is to do. Pages, problem texts and units come with the program: store install-service -dry-run shows what would change in yours."
        },
        {
          "at": "what-is-read-and-what-is-refused",
          "title": "What is read, and what is refused",
          "text": "Make a backup, then start the new program on the same files: a ledger of any older release is read as it is. A ledger that a newer release has written is refused, with the number of its format: start the newer release again, or restore the backup that was made before the upgrade into an empty ledger. So is a published tree or a signed record: build with the newer release again, or, to stay with this one, run store build -full, which makes the whole tree anew; of the record, restore the backup that was made before the upgrade."
        }
      ]
    },
    {
      "path": "/spec/delivery-receipt/v1",
      "title": "delivery-receipt/v1",
      "summary": "The signed statement which body answered which payment: what exactly is hashed, how it is checked, what a repeat changes, and how the right of its key is shown.",
      "parts": [
        {
          "text": "The receipt of the x402 extension offer-receipt (version 1) says that a payment was taken, and not what was given for it. It stays as it is. Beside it stands a second one, of this store's own form, that binds the body. Answers that were kept before there were any have none, and are as good as they were."
        },
        {
          "at": "where-it-stands",
          "title": "Where it stands",
          "text": "A JSON answer to a purchase has it in delivery_receipt, right behind receipt: over HTTP and MCP, in what a repeat or a sign-in is given, in fulfilment.body of a status and in purchases of claims. A text (a page or a porch line, text/markdown) has it in the field X-Delivery-Receipt. What was bought on account has none: there is no payment to bind. An order that is delivered later has one in its first answer, over the promise, and another in its last, over the goods. Of a file the answer has the SHA-256, so that what binds the answer binds the file."
        },
        {
          "at": "what-is-signed",
          "title": "What is signed",
          "text": "A compact JWS as the receipt of version 1 is one: header {\"alg\":\"EdDSA\",\"kid\":…}, the kid a did:web URL of the host that sold with the thumbprint of its key, and in the payload these members and no others, in the form of RFC 8785: Member Holds amount, decimals the whole sum settled in atomic units of the token, a text, and how many of its digits stand behind the point asset, network the token and its chain (CAIP-2) canonical responseHash, responseHashAlg and responseHashEncoding as below, where the last is jcs; JSON alone has it, and not where RFC 8785 has no exact form of it (an integer beyond 2^53 − 1, half a surrogate pair) contentType application/json or text/markdown issuedAt when this was signed, Unix seconds keyLog where the log of the record shows the key; absent while it does not payer, transaction, settledAt the wallet that paid, the transaction that moved the money, empty where a voucher of a channel paid, and the time of its block, or of the voucher, in Unix seconds resourceUrl the door, without the query responseHash 0x and the SHA-256 in lower-case hex of the bound body responseHashAlg sha256 responseHashEncoding raw type store-delivery/v1: no receipt of x402 has this member, so that neither is taken for the other The three names are those of a proposal for receipts of version 2. They mean the same here but for which part of a JSON body is bound."
        },
        {
          "at": "the-bound-body",
          "title": "The bound body",
          "text": "Bytes are those that are there when every Content-Encoding is undone. Of a text all bytes are bound, also in a repeat, whose receipt is signed anew. A JSON answer cannot hold the digest of all of itself. Its bound body is every member of the answer but the receipt itself and these, which stand behind it and nowhere else: Not bound Why recovery its status_token is the buyer's secret: an answer is shown to others without it, and is as well bound idempotent_replay, first_served_at, charged_now, to_buy_another they are what a repeat says otherwise than the first answer: all repeats have the same receipt receipt, the certificate and whatever else is signed stand before it and are bound with it. raw: take the bytes of the answer up to and without the last ,\"delivery_receipt\":\", and put } behind them. The SHA-256 of that is responseHash. What is cut off has to hold, with delivery_receipt, members of the table alone. jcs: parse the answer, refuse a name that stands twice, take delivery_receipt and the members of the table out, write the rest in the form of RFC 8785. The SHA-256 of that is canonical.responseHash. It holds where a program on the way wrote the JSON anew: in a status, in claims, over MCP. One of the two is enough. Neither says that a member is true."
        },
        {
          "at": "the-right-of-the-key",
          "title": "The right of the key",
          "text": "The signature shows who holds the key. That it was the store's key at issuedAt is shown by the ring at /.well-known/store-signing-key, between whose since and retired_on that date lies, and by two things that the store cannot take back: keyLog {\"entrySha256\", \"id\", \"leaf\", \"origin\"} names a leaf of the log origin. It is the observation of kind key_event that holds the handover to the key, or leaf 0, which the first key signed itself; entrySha256 is over the bytes of the leaf, and /api/verify/ID has them with the proof. Who saw that log at any size beyond leaf, a witness or a clone, has seen the key. _controllers. and the host of the store is a DNS name whose TXT record is v=1;controller=did:web:…, as the extension says (section 4.5.1). store doctor prints it and looks for it. DNSSEC should sign it. Keep what you looked up with its date: a record that is gone later undoes no receipt of before."
        },
        {
          "at": "checking-one",
          "title": "Checking one",
          "text": "store verify -ring KEYS -artifact FILE checks a saved answer with its receipt, and with -record DIR that the log of a clone shows the key where keyLog says. In JavaScript checkAnswer does the first, and openDelivery a text. store buy and check -pay check it at any door that gives one. What is refused: a key that is not of the host of resourceUrl, not of purpose identity, or not in force on the day of issuedAt; another form; another body; a member behind the receipt that the table does not have."
        },
        {
          "at": "vectors",
          "title": "Vectors",
          "text": "Signed by the specimen's key of store.example, whose ring is that of the specimen. The answer, one line: {\"message\":\"Grüß Gott \\u0026 good morning.\",\"item_id\":\"hello\",\"deliverable\":{\"kind\":\"text\",\"text\":\"Mind the step.\"},\"paid_usdc\":\"0.5\",\"tip_usdc\":\"0\",\"receipt\":\"eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDp3ZWI6c3RvcmUuZXhhbXBsZSNRU2tKV0IzMG1lal9NNXIxY3VGQkh1SGdCN2NHb3d3MUE5YkdCOVVkSGtVIn0.eyJpc3N1ZWRBdCI6MT Its bound body has SHA-256 0xf9b561e3e904042560e41da8e47ada3aba52d302f2f92d14f3d2903ef48aecf8, and in the form of RFC 8785 0x507b678180f92d1d7d17842a898f945daaad8c4345c86b90d2b053f78945150b. The payload: {\"amount\":\"500000\",\"asset\":\"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913\",\"canonical\":{\"responseHash\":\"0x507b678180f92d1d7d17842a898f945daaad8c4345c86b90d2b053f78945150b\",\"responseHashAlg\":\"sha256\",\"responseHashEncoding\":\"jcs\"},\"contentType\":\"application/json\",\"decimals\":6,\"issuedAt\":1795600790,\"keyLo The text of the two paragraphs # A page and Mind the step., with an empty line between them and a line feed at its end, came with: eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDp3ZWI6c3RvcmUuZXhhbXBsZSNRU2tKV0IzMG1lal9NNXIxY3VGQkh1SGdCN2NHb3d3MUE5YkdCOVVkSGtVIn0.eyJhbW91bnQiOiI1MDAwMDAiLCJhc3NldCI6IjB4ODMzNTg5ZkNENmVEYjZFMDhmNGM3QzMyRDRmNzFiNTRiZEEwMjkxMyIsImNvbnRlbnRUeXBlIjoidGV4dC9tYXJrZG93biIsImRlY2ltYWxzIjo2LCJpc3N1ZWRBdCI6MTc5NTYwMDc5"
        },
        {
          "at": "what-it-does-not-prove",
          "title": "What it does not prove",
          "text": "That the goods are any good, that the bytes arrived, or that the store signed no second, different answer for the same payment. Whoever has two that differ can show both."
        }
      ]
    },
    {
      "path": "/spec/mpp-usdc/v1",
      "title": "mpp-usdc/v1",
      "summary": "How the MPP method usdc is offered and paid here, and what its draft and that of the Payment scheme leave to a store.",
      "parts": [
        {
          "text": "Method usdc, intent charge, is Circle's (draft-usdc-charge-00): native USDC, with a payment that is bound to its challenge, to the method, to the intent and to the whole request. It stands beside method evm in the same 402. This page says what the draft leaves open, and what of draft-httpauth-payment-02 is kept."
        },
        {
          "at": "what-is-offered-where",
          "title": "What is offered where",
          "text": "Method On In the header In the body evm Base, where it is sold on the least amount each amount, where there are several usdc every EVM network that is sold on, and Solana the least amount, on the first of them all networks and amounts, for who names the method A header holds two challenges at most, so that it stays within 7,000 bytes with the terms of x402, and within 8,000 where there are several amounts. Accept-Payment chooses: usdc/charge gets the first challenge for EVM wallets and the one for Solana in WWW-Authenticate, and all of them in the body, under org.paymentauth/payment-required. A token is offered where it is Circle's own by the table of networks of this store, under its own EIP-712 name and version, and never by Permit2. The profiles stacks and gateway are not taken. Accept-Payment is read by its grammar: at most 1,024 bytes and 32 ranges, or it says nothing. The most specific range counts, q=0 leaves a method out, a higher q comes first, and equal ones stay in the order of this store. Where no range speaks of an offer, the answer is what it is without the field. Where each is refused by a q=0, the header has no challenge and the body keeps them."
        },
        {
          "at": "what-is-signed",
          "title": "What is signed",
          "text": "On an EVM network: an EIP-3009 authorization, as by method evm, whose nonce is Keccak-256 of the canonical JSON (RFC 8785) of id, intent, method, realm and requestHash. The draft does not say how requestHash is written inside. Here it is written as the nonce is: 0x and 64 lower-case hexadecimal digits, of Keccak-256 over the bytes that the base64url of request decodes to. payload.nonce has that one spelling. source may be left out; it is the CAIP-10 account or the did:pkh of the payer. { \"id\": \"x7Tg2pLqR9mKvNwY3hBcZa\", \"realm\": \"api.example.com\", \"request\": \"{\\\"amount\\\":\\\"1000\\\",\\\"currency\\\":\\\"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913\\\",\\\"externalId\\\":\\\"order-1\\\",\\\"methodDetails\\\":{\\\"evm\\\":{\\\"chainId\\\":8453,\\\"credentialTypes\\\":[\\\"authorization\\\"],\\\"decimals\\\":6},\\\"type\\\":\\\"evm On Solana: a transaction with the fee payer of the request, which the payer signs, and beside it the binding of the draft: ed25519 over the SHA-256 of CIRCLE::USDC::ChallengeBindingV00 followed by the canonical JSON of challenge (as it is sent back, in canonical form), method, source, transactionBytesDigest and type. The key is that of the account that pays, and source its CAIP-10 account. Compute limit, compute price, one TransferChecked and memos are taken, and nothing else: no Lighthouse, no durable nonce, no account that is made on the way, because this store's stands already. { \"seed\": \"0101010101010101010101010101010101010101010101010101010101010101\", \"source\": \"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9\", \"transaction\": \"dGhlIGJ5dGVzIG9mIGEgdHJhbnNhY3Rpb24=\", \"challenge\": \"{\\\"expires\\\":\\\"2026-12-01T12:05:00Z\\\",\\\"id\\\":\\\"x7Tg Where a credential is an object, over MCP, the challenge in it is signed as it stands there."
        },
        {
          "at": "one-order",
          "title": "One order",
          "text": "externalId names the order: all challenges of one answer have the same, and it says nothing to others. One of them is paid, by one wallet, whatever the method, the network and the key that came along. The claim of the order and that of the payment are one transaction. Whoever comes second is refused (invalid-challenge), but for the wallet that paid, which is given what it bought. Challenges of method evm are of the order too, without saying so. The entries of x402 in the same 402 are not: there two equal orders of one wallet are one, as everywhere. The receipt has method, type, challengeId, reference, status, timestamp, network (CAIP-2) and externalId."
        },
        {
          "at": "the-field-of-a-credential",
          "title": "The field of a credential",
          "text": "A challenge has header=\"Payment-Authorization\" where the request that asked for it had something else in Authorization, such as a bearer token for a gateway on the way. Its credential is taken from that field and from no other, and header is sent back in it. The id of a challenge is a MAC over the seven parts that it always had, and behind them the field where one is named. The same credential again, for an answer that was lost, comes in the same field; in the other one it proves nothing."
        },
        {
          "at": "what-is-refused",
          "title": "What is refused",
          "text": "Case Answer another realm, door, query, body, method, network, token, amount or order than the challenge's; an id of another store; the wrong field; an order that was paid 402 invalid-challenge the nonce of method evm, another spelling of it, a binding by another key or of other bytes, a source that is not who pays 402 verification-failed a challenge on Solana that has ended 402 payment-expired another credential type, more in the payload, no binding 402 invalid-payload a payer whom the token blocks or whose account is frozen; a guard beside the transfer 402, with the reason of the network a token that is paused, or that blocks this store 503 settlement_unavailable; the network is left out of the 402 until it is over two credentials, also in two fields; one beside a payment by x402 400 Each says billed: no. Whether a payer or this store is blocked, and whether the token is paused, is asked of the network for each payment, at its newest block. The same credential again is answered with what became of its payment."
        }
      ]
    },
    {
      "path": "/spec/sign-in/v1",
      "title": "sign-in/v1",
      "summary": "What a wallet that bought something here gets by signing in in place of paying again, at which door, and for how long.",
      "parts": [
        {
          "text": "A wallet that paid and lost the answer signs in, and gets the answer uncharged. The messages are those of the x402 extension sign-in-with-x, so that a stock client that signs in before it pays recovers by itself. The extension does not say what a sign-in opens; this page does."
        },
        {
          "at": "what-it-opens",
          "title": "What it opens",
          "text": "Door Opens For how long A door that sells (/api/buy/…, paid pages, the porch) the answer of the newest delivered purchase of exactly this operation by this wallet, with idempotent_replay: true five minutes from its delivery; after that until it was fetched once, by its status, by claims, by a repeat or by a sign-in, and 24 hours at most; a page that was bought, as long as it stands GET /api/purchase-status/PURCHASE_ID what the status token opens there, for the wallet that paid for this purchase always POST /api/order/ORDER_ID/replay-callback the same always An operation is a door, and the inputs of the order after they were checked, without source and callback_url. GET and POST of a door order the same; a message is for the method that it was asked with. A wallet is the account that the chain says paid: what it paid for somebody else is its own here, and what somebody else paid for it is not. It opens nothing else. It never orders, reserves or makes anything; only an answer that is kept is given. A file that was bought, and the file of an order, take their own ways. What was taken back by its chain is not given. An Idempotency-Key of your own goes before a sign-in, which is not looked at then: that is how you buy a second one. A token in Authorization goes before it too. Where there is no such purchase, the answer is the 402 that it would be without a sign-in. Claims (POST /api/claims) have a challenge of their own, and neither signature serves for the other."
        },
        {
          "at": "what-is-signed",
          "title": "What is signed",
          "text": "A 402 has extensions[\"sign-in-with-x\"] in the object of PAYMENT-REQUIRED, and not in its body, which is kept short. The 401 of a status or an order has it in the body. info is the message, supportedChains the first network of each kind; any other network on which payments are taken may stand in its place: Member Is domain this store's host, with its port uri the address of the door, without the query version 1 statement one sentence, always the same nonce 40 letters and digits: a MAC over method, path and inputs, a time and chance, which no store can make but this one issuedAt, expirationTime five minutes apart Add address, chainId and type, and nothing else. EVM wallets sign the text of EIP-4361 by personal_sign (EIP-191), type eip191; a contract answers for itself (EIP-1271) with the same type. Solana wallets sign the text of Sign In With Solana by ed25519, type ed25519. The address is in the spelling of EIP-55, or base58. Send all of it with signature (hex, or base58) as standard base64 of JSON in SIGN-IN-WITH-X, with the same request and without a payment. A key speaks for its address on every network of its kind. A contract speaks for its own network alone, by what it answers now: who its owner is has changed since, or not."
        },
        {
          "at": "what-is-refused",
          "title": "What is refused",
          "text": "Case Answer cannot be read, or two of them 402 invalid_siwx_header a network on which no payments are taken 402 invalid_siwx_unsupported_chain a nonce of another store, method, door, order or claim; older than five minutes; answered before 402 invalid_siwx_nonce another domain, URI, statement, resource or time; a request id; an address in another spelling 402 invalid_siwx_message another key; another text, such as that of a payment; a contract that says no, or takes more than 300,000 gas 402 invalid_siwx_signature beside a payment 400 sign_in_beside_payment a contract that cannot be asked now, or too many that were asked 429 or 503 with Retry-After, and no terms a status or an order of another wallet, or none 401, as for a wrong token At a status or an order the first five are 401, with the same reason. Each says billed: no. A nonce is spent by an answer and by nothing else. A payment that settled is in public view and proves nothing: no part of one opens an answer here."
        }
      ]
    },
    {
      "path": "/spec/store-attestation/v1",
      "title": "store-attestation/v1",
      "summary": "The format of the store's signed certificates: fields, bytes, keys, how to check one by hand, and what it does not prove.",
      "parts": [
        {
          "text": "A certificate is a small JSON object and an ed25519 signature (RFC 8032) over one exact spelling of it. This page is all that is needed to check one without the store's help."
        },
        {
          "at": "fields",
          "title": "Fields",
          "text": "There are twenty-five names, and their order is part of the format. A certificate holds the ones that apply to it. An empty field is left out; it is never null. # Field Holds 1 cert_id cert_ and 20 characters of base32, lower case 2 item the id of the good 3 patron_number integer, counted up from 1 without gaps 4 date when the payment's block was made, RFC 3339 in UTC, or a bare date 5 name the name the buyer gave 6 tip_usdc what was paid above the minimum, a decimal string 7 note the words that were bought, or words about them 8 win the strength on a card of luckies 9 tag what the good is called in public: the idea that was claimed, the name, the word 10 attests what the store states, or the digest it binds 11 made_by who made the goods 12 paid_usdc the whole sum settled, tip included, a decimal string 13 asset the token's contract or mint 14 network CAIP-2 id of the chain 15 payer the wallet that paid 16 settlement_tx the transaction that moved the money 17 cross_ref sha256: and the digest of the signed payload of the artifact that this one extends or accompanies, never an id 18 purpose what the certificate is for 19 from_the_store the base URL of the store that signed 20 mandate_id the id of a checkout mandate, where the purchase came with one 21 saw the host name that a good looked at, never a path or a query 22 settled_via the rail or account that settled; where an agent signed the payment by Web Bot Auth, then , signed by, the host of its key directory and the thumbprint of its key 23 trade_partner the account at the trade counter 24 trade_price_usd the price billed to it 25 trade_instruction what that account ordered Certificates dated before 2026-07-31 have no payment fields (12 to 16), because there were none yet. The verify answer says so for each."
        },
        {
          "at": "the-signed-bytes",
          "title": "The signed bytes",
          "text": "signed_payload is the object with its present fields in the order above, as compact JSON: UTF-8, no spaces, no line break at the end, no escapes but those JSON demands, spelt as RFC 8785 spells them, no name twice, no numbers except integers within 2^53 − 1. signature is the signature over these bytes, 128 digits of lower-case hex. signature_jcs is a second signature by the same key over the same object in the form of RFC 8785, for readers who would sooner canonicalise than preserve. A proof is six members of one object: signature, public_key (64 digits of lower-case hex), algorithm, which is ed25519, signed_payload as a string, signature_covers, which lists the names of the signed members in their order, and signature_jcs. Each stands in the answers that hold something signed: Where Proves at the top of the answer what /api/verify/ID was asked for; of a purchase the certificate, which certificate shows in artifact what a purchase left beside its certificate in monthly_note the keeper's note, in the answer about a pass An order that is not yet delivered has no certificate, and its answer no proof at the top. Both are in the answer of /api/purchase-status/PURCHASE_ID later, in fulfilment.body. A signature is checked against the bytes that travel with it, never against a rebuilt object. After that, compare whatever you were shown with what the bytes say."
        },
        {
          "at": "beside-the-certificate",
          "title": "Beside the certificate",
          "text": "Some goods leave a second paper. It is signed in the same two ways by the same key, its members stand in the order given here, and the certificate names it in cross_ref by the SHA-256 of its signed bytes. Each has a member class, which a certificate never has, so that no signature over one thing is good for another. Class Members, in their order context_anchor anchor_id, class, patron_number, date, summary, name, from_the_store bitcoin_anchor anchor_id, class, patron_number, date, digest, label, name, from_the_store patronage_pass pass_id, class, patron_number, date, name, starts, ends, from_the_store patronage_note month, class, date, text, made_by, from_the_store order order_id, class, patron_number, date, item, status, paid_usdc, window_hours, due_at, asked, completed_at, answer, from_the_store service_audit, onpage_audit audit_id, class, patron_number, date, item, target, slot, read_at, verdict, findings, evidence, evidence_sha256, published_sha256, what_this_cannot_tell_you, from_the_store provenance_check prov_id, class, patron_number, date, item, address, read_at, reading, what_this_cannot_tell_you, from_the_store debt debt_id, class, date, kind, owed_usdc, value, network, asset, from, to, valid_after, valid_before, nonce, signature, settlement_tx, from_the_store bounty bounty_id, class, date, target_url, reward_usdc, value, network, asset, from, to, valid_after, valid_before, nonce, signature, settlement_network, settlement_tx, from_the_store porch_line stamp_id, class, date, line, hour, weather, sealed_week, from_the_store letter letter_id, class, date, status, wrote, replied_at, reply, made_by, from_the_store commission_request request_id, class, date, status, asked, quoted_at, price_usdc, window_hours, from_the_store visit_stamp class, date, from_the_store, line, stamp_id, week guestbook_sticker class, date, entry, from_the_store, identity, line, stamp_id phantom_check check_id, class, patron_number, date, status, url, due_at, promise, looked_at, answer, missed, name, from_the_store Those from letter to guestbook_sticker are given to visitors, who paid nothing, and no certificate names them. Nothing that a visitor wrote is in them but as a salted digest. Ids are a prefix (anchor_, pass_, order_, audit_, prov_, check_, debt_, bty_, let_, req_, stamp_, and gst_ of a guestbook entry) and 20 characters of base32 in lower case. They are random and in the buyer's hands alone: whoever has one can read what it names, so a certificate never holds it. summary is what the buyer wrote, byte for byte. asked and answer are sha256-salted: and the SHA-256 of 32 bytes of salt followed by a text; the buyer has the salt. An order is signed once as queued and once more as completed. A porch_line is bought without a certificate and stands alone. A debt, and a bounty, holds the EIP-3009 authorization by which the token pays it. A report is at most 256 KiB. Each of its findings has checker, verdict, report, and report is the checker's own object, with control and direction characters spelled out and numbers that are no such integers as texts. evidence lists every answer that was had: method, url, at, status, failed, head_sha256, body_sha256, body_bytes, where the head is its fields as lines name: value, names in lower case, sorted by name, each line ended by a line feed. evidence_sha256 is sha256: and the SHA-256 of the compact JSON of evidence; the certificate has it in attests, or published_sha256 where the evidence itself stands in the public record. On your own machine store verify -ring KEYS -artifact FILE checks a saved answer, where KEYS is a copy of /.well-known/store-signing-key. In the week after its delivery a certificate is counted in the public log. The answer of /api/verify/ then has issued {through, size, root, index, hashes, observation}: SHA-256 of signed_payload is leaf index of a Merkle tree (RFC 6962), hashes lead from it to root, and observation {entry, proof, …} shows that the root was signed into the log: entry is an observation of the record that has through, size and root in certificates, and proof, in the form of c2sp.org/tlog-proof, leads from it to a checkpoint. The certificate is no younger than that, whoever holds the keys. The program checks this too."
        },
        {
          "at": "keys",
          "title": "Keys",
          "text": "The key in force, and all retired ones with their dates, stand at /.well-known/store-signing-key in hex and at /.well-known/did.json as did:web:store.example. In the first, public_key is the one in force and since the date from which it is; retired lists former ones of every purpose as purpose, public_key, kid, since, retired_on, other_keys those in force of the other purposes, that of the log among them, and handovers what each signed when it handed over. What this page describes is signed by a key of purpose identity and by no other, and dated between its since and its retired_on, both days included. A key's id is its RFC 7638 thumbprint. When a key hands over to another, the outgoing one signs that."
        },
        {
          "at": "by-hand",
          "title": "By hand",
          "text": "With curl, jq, xxd and OpenSSL 3, for a certificate whose id is in CERT_ID: curl -s https://store.example/api/verify/$CERT_ID > answer.json jq -rj .signed_payload answer.json > payload jq -rj .signature answer.json | xxd -r -p > signature { printf 302a300506032b6570032100; jq -rj .public_key answer.json; } | xxd -r -p > key.der openssl pkeyutl -verify -pubin -keyform DER -i The long constant is the fixed beginning of every ed25519 public key in DER (RFC 8410). Then compare public_key with the published one, fetched from somewhere you have reason to believe."
        },
        {
          "at": "stability",
          "title": "Stability",
          "text": "Version 1 does not change: no field is renamed, moved, retyped or removed, and no new one is put among the twenty-five. What cannot be said in this format will be said in another, with another number. A certificate that verifies today will verify with the same code in ten years."
        },
        {
          "at": "what-it-does-not-prove",
          "title": "What it does not prove",
          "text": "A certificate proves that the holder of the store's key signed those fields. It does not prove that the payer is who the name says, that a buyer's own words are true, that the store approves of anyone, or that any third party did or did not do a thing. The payment it mentions can be looked up on the chain, and for that you need not ask us."
        }
      ]
    },
    {
      "path": "/spec/store-bundle/v1",
      "title": "store-bundle/v1",
      "summary": "Evidence in one file: rows of the record with all that shows where they stand and who signed them, to be checked without a network for years to come.",
      "parts": [
        {
          "text": "A bundle is one JSON object on one line and a newline, at most 64 MiB. Its members stand in the order below, compact, with no member that is not listed here. There is one spelling: what is read and written again gives the same bytes. Texts that were signed are JSON strings that hold their exact bytes. Member Holds format store-bundle/v1 keys the store's key ring: current keys, retired ones with their last day, signed handovers checkpoint the head of the log when the bundle was made, a signed note (c2sp.org/tlog-checkpoint); empty without rounds handovers for each handover of the log's key before checkpoint: its size in leaves, and consistency, the hashes from the last head of the outgoing key to checkpoint rounds sorted by sequence, those of rows and the newest that is spoken of: header, proof, consistency, time after the first and the last observation between the newest round and checkpoint, one where they are the same, none where nothing is between: leaf, its exact bytes, and proof rows sorted by host and sequence: row, proof, judgement errata absent where there are none: of each of rows that the log corrects, the last erratum, in the order of the rows: leaf, its exact bytes, and proof hosts sorted by name: what the host index of the newest round in rounds says of each host: host, sequence, size, root, places, each position, entry, hashes, then claim and log artifacts signed artifacts, each with the members of its signature sha256 of everything before it, closed with a brace"
        },
        {
          "at": "checks",
          "title": "Checks",
          "text": "sha256 is that of the bytes. It finds damage, not forgery: whoever changes a bundle can write another. A log key of keys signed checkpoint. Where you hold keys of your own, keys must be those or follow from them by handovers, and every handover that both know is the same to the byte. A handover of a log key holds last_head, the size and the root of the last head that is the outgoing key's: its signature counts up to that size, the incoming key's from there on, and at that size the root is that one. handovers shows for each such head that the log goes on from it; a bundle that ends before one is unproven. Each header is a store-round/v1 that an identity key signed while it was in force; headers that follow each other are chained by previous_digest. proof (c2sp.org/tlog-proof) shows its leaf, {\"digest\",\"file_sha256\",\"sequence\",\"type\":\"round\"} in the form of RFC 8785, at the index behind the round's rows, under the checkpoint of the size at which the round was sealed, which is the same for everything of that round. consistency leads from there to checkpoint. Each member of hosts is about the newest round in rounds. log, a tlog-proof, shows the leaf {\"root\",\"sequence\",\"size\",\"type\":\"hosts\"} in the form of RFC 8785 as the last one under that round's checkpoint; claim is all rows in the index committed at size N; a clone recomputes it, where N is the size of that checkpoint. root and size are those of a Merkle tree over the entries of every host that had a row in round 1 to this one, sorted by the bytes of their names. places holds entries, each with its position and its Merkle proof: that of the host, or, where it never had a row, those of its two neighbours, or of one at an end. An entry is hashed in the form of RFC 8785: {\"first_sequence\",\"head\",\"host\",\"last_leaf\",\"rows\"}, the round of the host's first row, a head over its rows (below), the place of its newest row in the log, and how many there are. Each row is a store-row/v1 signed by the key of its round's header, says that it belongs to this round, is of a host in hosts, and proof shows its exact bytes as a leaf among the round's. judgement, where it is kept, is a store-judgement/v1 whose SHA-256 is the row's evidence_digest. Judged again, it gives every observed member of the row. time.proof is an OpenTimestamps file, in base64, of the digest of the round. time.blocks are the block headers that it rests on, {height, header} by rising height, each once, 160 digits of hex; none of a height that the proof does not name; compare the hash with any explorer. Each artifact is signed by an identity key of keys, over the exact signed_payload and over its RFC 8785 form. Each of errata is a store-observation/v1 of the kind erratum that an identity key signed, proof shows its exact bytes under checkpoint, behind the row that it corrects, and that row is here. What counts of such a row is the verdict of the erratum. What that rests on is not here: a clone shows it."
        },
        {
          "at": "what-may-have-been-cut-out",
          "title": "What may have been cut out",
          "text": "Anybody can take rounds out of a bundle and write sha256 anew. What is missing follows from what is signed, and a bundle that lacks any of it is unproven: neither good nor forged. The rows of each host that are here give its entry: as many as rows says, the first of round first_sequence, the last at last_leaf, and head, where the head behind a row is SHA-256(head before it ‖ SHA-256(its exact bytes)), from 32 zero bytes on. Rounds in which a host has no row need not be here. Where rows are left out, those that are here tell of which rounds. From last_leaf back, each row stands at the place that is due, and names the next one by its previous_leaf, none if it is the first. A row that stands before the place that is due leaves a gap: from the round behind its own, or from first_sequence, to the round that the place is of. A row that stands behind that place, more rows than the entry counts, or all that it counts with another head are no gap, and the bundle is refused. No round stands between the newest and checkpoint: the leaves behind it are none, or observations. Those are numbered without a gap, so that the numbers of the first and the last in after differ by as much as their places. There is a round, and a host of which it speaks, or there are artifacts alone. A bundle that passes is complete to its newest round. Cut at its end and given an older head of the log, it would be the bundle of that time: where you remember a checkpoint of more leaves than checkpoint has, or demand a later week, it is unproven as well. The cost of 1 and 3 is bounded: one proof for each host and all its weeks, and two observations with their proofs for the bundle."
        },
        {
          "at": "what-it-does-not-prove",
          "title": "What it does not prove",
          "text": "That no erratum corrects a row besides those that are here: the whole record shows it. That the checkpoint is the only one the log ever signed: compare it with one that somebody else holds. That the record did not go on behind it. That the store looked well; what it looked at is in the judgement."
        }
      ]
    },
    {
      "path": "/spec/store-callback/v1",
      "title": "store-callback/v1",
      "summary": "How the store tells a receiver that an order is completed or released, and how a receiver knows that it was the store.",
      "parts": [
        {
          "text": "An order that is not delivered at once may come with a callback_url. Once the order is completed, and never before, the store sends one message there; so it does once an order is released: what was held for it went back, and nothing comes of it. This page is what a receiver has to know. It follows Standard Webhooks, version 1.0."
        },
        {
          "at": "the-message",
          "title": "The message",
          "text": "POST to the address, Content-Type: application/json: Header Holds webhook-id one for the message, the same in every try; whoever has taken it once may drop it webhook-timestamp when this try was made, in seconds since 1970 webhook-signature signatures with a space between them, in any order The body is the same in every try, byte for byte: Member Holds type order.completed or order.released timestamp when that was, RFC 3339 in UTC data order_id, item_id, status and deliverable, as GET /api/order/ORDER_ID says it; of a released order deliverable is null A later version may add members and types. A receiver answers 2xx to a type that it does not know."
        },
        {
          "at": "the-signatures",
          "title": "The signatures",
          "text": "What is signed is webhook-id, a dot, webhook-timestamp, a dot, and the body as it came. Begins with Is Checked with v1a, Ed25519 (RFC 8032), base64 the store's key of purpose webhook, in /.well-known/store-signing-key; the order gives it as whpk_ and base64 v1, HMAC-SHA256, base64 the bytes of the purchase's status token, recovery.status_token, which the buyer alone has One that holds is enough. The second is there for libraries that know shared secrets alone: give them the token as a raw secret. Refuse a timestamp that is more than five minutes away from your own clock. In JavaScript, with standardwebhooks: new Webhook(statusToken, { format: \"raw\" }).verify(body, headers); In Go, with github.com/standard-webhooks/standard-webhooks/libraries/go: wh, err := standardwebhooks.NewWebhookRaw([]byte(statusToken)) err = wh.Verify(body, header) With the public key alone, in Node.js: const pub = crypto.createPublicKey({ format: \"jwk\", key: { kty: \"OKP\", crv: \"Ed25519\", x: Buffer.from(whpk.slice(5), \"base64\").toString(\"base64url\") } }); crypto.verify(null, Buffer.from(id + \".\" + timestamp + \".\" + body), pub, Buffer.from(v1a, \"base64\"));"
        },
        {
          "at": "the-tries",
          "title": "The tries",
          "text": "A try lasts at most ten seconds. 2xx is taken, whatever the body says; of a body 4 KiB are read and nothing is kept. Redirects are not followed. What is not taken is sent again after 5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours, 10 hours and 10 hours; then it is given up. A receiver that answers 410 is not asked again. A message may come twice, also after it was taken: its webhook-id says so. The address is public and https, on the default port. It is checked before anybody is asked to pay, and again at every try. Every try stands in the order, with its outcome. POST /api/order/ORDER_ID/replay-callback, with the status token as bearer, sends the message again, once a minute. A callback that was lost costs nothing else: the order has everything that it says."
        },
        {
          "at": "a-vector",
          "title": "A vector",
          "text": "Of the specimen store, whose keys are public. Name Value public key whpk_bWymmPLdvW7M1A10LQEp1g7LI6kRzNRnSuvFWkSjAjA= status token st_abcdefghij234567abcdefghij234567abcdefghij23456 webhook-id msg_SPECIMEN2345672345672345 webhook-timestamp 1795413600 v1a v1a,fkiFkUdIum3WMI2x1z1L/5dggFsZvuNgNNUyv6uDwyEAJOKsVYG7/sqzRIgcpqGh5ojaqoDhtuI5TtZxjLDoAg== v1 v1,ZZyuTD73saxzwcFK4krHBMobUPGXD4RZoNk/DosYDq4= The body: {\"type\":\"order.completed\",\"timestamp\":\"2026-11-23T06:00:00Z\",\"data\":{\"order_id\":\"order_abcdefghij2345672345\",\"item_id\":\"quick_judgment\",\"status\":\"completed\",\"deliverable\":{\"text\":\"Keep the cat.\"}}}"
        }
      ]
    },
    {
      "path": "/spec/store-corpus/v1",
      "title": "store-corpus/v1",
      "summary": "The signed record, byte for byte: rows, rounds, host index, log, observations, words, keys, proofs and manifest.",
      "parts": [
        {
          "text": "The record is a folder of files. Everything in it is signed, or hashed into something that is. A verifier can be made from three pages: this one; store-evidence/v1, on what rows were judged by; and the rules, on what is refused, in which order, and vectors. forms.txt has every form for programs. Judging again needs the battery, a program; all else SHA-256, ed25519 (RFC 8032), gzip and a JSON reader that refuses duplicate names. Reports on doors: store-report/v1."
        },
        {
          "at": "conventions",
          "title": "Conventions",
          "text": "Canonical JSON is compact: no white space, members in the order in which these pages list them, those marked ? left out where they are empty or zero, and never null. Strings are UTF-8; only \", \\ and the characters below U+0020 are escaped, as \\\", \\\\, \\b, \\t, \\n, \\f, \\r, and \\u00 with two lower-case hexadecimal digits for the rest. Numbers are integers from −(2^53 − 1) to 2^53 − 1. JCS is the form of RFC 8785. An unknown member, a duplicate name, bad UTF-8 and any other spelling of the same are refused. hex is lower-case hexadecimal. A digest is SHA-256 in 64 digits of it. A time is RFC 3339 in UTC in whole seconds, 2026-11-20T10:11:12Z; a date its first ten characters; a week an ISO week, 2026-W47. A kid is the RFC 7638 thumbprint of an ed25519 key: SHA-256 of {\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"<key in base64url>\"} in unpadded base64url, 43 characters. A host is a name in lower case of 1 to 253 visible ASCII characters without /, \", \\ and upper-case letters. A network is a CAIP-2 name ([-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}, after eip155: digits without a leading zero) or the word other. An amount is a decimal without a sign and without leading zeros, of at most six places and at most 80 bytes. Bytes of a text are counted between its quotation marks as canonical JSON writes it. Sorted is by bytes, each once. Signed means: kid and signature stand last; the signature is ed25519, in 128 digits of hex, over the canonical bytes of the object without the member signature. Merkle trees are those of RFC 6962: a leaf hash is SHA-256(0x00 ‖ leaf), a node SHA-256(0x01 ‖ left ‖ right), a tree is split at the largest power of two below its size, and the root of no leaves is SHA-256 of nothing."
        },
        {
          "at": "files",
          "title": "Files",
          "text": "File Holds rounds/3/header.json the signed header of round 3, canonical, no newline at its end rounds/3/part-0001.jsonl up to 4,096 rows, each its exact bytes and a newline; parts are numbered from 1 rounds/3/hosts/… the host index of round 3: tiles, entries, table observations/000000017.json what was born between rounds, numbered from 1 without gaps, no newline at its end words/<sha256>.json a stranger's text, until it is withdrawn evidence/000000003/000001.jsonl.gz, ….index.json what the rows of part 1 of round 3 were judged by evidence/000000003/control.jsonl.gz, ….index.json the same of the round's walks to the control door evidence/observations/<sha256>.jsonl.gz what a refresh or an erratum was judged by proofs/3/<calendar>-<n>.ots, proofs/3/<height>.header proofs of time of the digest of round 3; proofs/anchor-2/ those of anchor 2 log/checkpoint the head of the log log/checkpoints/<size> every checkpoint that was signed log/cosignatures/<size> what third parties signed under it log/tile/<level>/<n>, log/tile/entries/<n> the log keys/ring.json the public keys manifest.json, manifest/… the signed list of all files Files are written once, except log/checkpoint, cosignatures, the ring, the manifest, tiles and bundles that are not full, and what may be withdrawn: words and evidence. Nothing else stands in the folders named here, and no two names differ in case alone. A git repository of the record holds neither words nor evidence."
        },
        {
          "at": "row",
          "title": "Row",
          "text": "store-row/v1: what one round saw of one host. Canonical, signed, at most 16,384 bytes. Member Holds format store-row/v1 origin the name of the log; at most 320 bytes sequence, week of the round host url the door that was walked: https://, the host, and then nothing, /, ?, # or : with what follows; at most 2,560 bytes listed whether a discovery source lists the host source discovery, well-known, list or revisit catalog the discovery source, may be empty; 64 bytes late? true for a host that came onto the roster after that was closed verdict ready, not_ready, unreachable or not_probed reason? why it was not probed or not reached; 64 bytes reached_level? L0 to L6 failed names of checks, at most 24 of 44 bytes; none in a row that is ready advisories names, at most 44 of 44 bytes also_under? at most 4 of {version, verdict, difference?}, sorted by version, what other batteries say of the same recording. version 16 bytes and not battery; verdict is ready, not_ready, unreachable or method_unresolved; difference 160 bytes protocols names, at most 8 of 64 bytes probe_method? {used, attempted, declared_by?}: 64 bytes, at most 4 of 64 bytes, 64 bytes offer? see below battery the version by which it was judged: v1 or v2 fault none, door, path or instrument observed_at? time evidence_digest? SHA-256 of the judgement, or of the opt-out vantages? at most 4 of {id, verdict, evidence_digest}, sorted by id, the kid of a walker elsewhere. Its verdict is ready, not_ready or unreachable; if that is not the row's, the row is not_ready, its fault path previous_leaf? log index of the host's row before this one; absent from its first kid, signature offer is {networks, networks_left_out?, schemes, min_usdc?, max_usdc?, pay_to, pay_to_left_out?, not_captured_reason?}: at most 32 networks, 8 schemes of 64 bytes, amounts, 32 of {network, digest}, and a reason of 64 bytes. A network of an offer may also be one of the short names that version 1 of x402 has for some, which forms.txt lists. A count of what is left out stands only beside a list that is full. digest is SHA-256 of store-pay-to/v1|<network>|<address>, where an Ethereum address is in lower case. A row that is not_probed has a reason and none of reached_level, observed_at, evidence_digest, offer, probe_method, also_under, vantages, and an empty failed; but one whose reason is opted_out has an evidence_digest, and no other. Every other row has reached_level, observed_at and evidence_digest; ready begins at L3 by battery v1 and at L4 by v2."
        },
        {
          "at": "round",
          "title": "Round",
          "text": "store-round/v1: the header of one week's census, at most 4 MiB. digest is SHA-256 of its canonical bytes without digest and signature, and the signature is over the same bytes. Member Holds format, origin sequence from 1 without gaps week, taken_at later than those of the round before; taken_at is a time, not before the week begins and less than thirteen weeks after it ends previous_digest digest of the round before, 64 zeros in the first battery the version by which doors were judged battery_digest SHA-256 of /spec/batteries/<battery>.json: v1 bd636ef28811dc31a14d7715440cc668afc361020aae79490071a820cc3d0903, v2 3e0718309248e232520993ca211c91e475bf9331e5553ac616d46ff67756e48b roster {listed, walked, capped, sources}; a source is {name, kind, hosts, complete, problem?} lot? {roster_digest, height?, header?, own?}: by what the order was drawn; never absent once a round has it coverage {due, probed, not_probed, previous_probed, dropped, suspect} control {walks, failed, evidence?, evidence_left_out?}; evidence holds the sorted digests of at most 4,096 judgements, and the number of them and of those left out is walks inflows {from, to, networks}; from one time to another that is not before it, both empty where nobody looked; a network is {network, read, transfers, addresses, addresses_left_out?, usdc, reason?}, with a reason exactly where it was not read; addresses_left_out, only where it was, are addresses with more transactions than could be read, which count in no other figure first_leaf, rows log index of the first row, and how many there are parts {rows, sha256} of each part's bytes; every part but the last has 4,096 rows kid, digest, signature The rows of a round are sorted by host over all parts, and say its origin, sequence and week. coverage.due is the number of rows, probed that of rows which are not not_probed, not_probed the rest, roster.walked equal to probed, previous_probed that of the round before (0 in the first). dropped is whether 100 × probed is less than 60 × previous_probed. suspect is whether it is dropped, roster.capped, a source was not complete, or this round and the one before were both drawn by a value of the keeper's own. The lot. A roster's digest is SHA-256 over the lines store-roster/v1, the week, and every host that is on it, sorted, each line with a newline. An observation of kind roster closes it before the first walk, stands in the log before the round's rows, and fixes the height of a block that is not made yet. roster_digest is that digest; the hosts are those of the rows without late. The seed is the hash of the 80 bytes of header in hex (SHA-256 twice, bytes reversed), or, where there is no header, the 32 bytes of own, whose SHA-256 the observation holds. A host's turn is SHA-256(seed ‖ host). Every row whose reason is beyond_cap has a later turn than every other row that is not late. The block may not be dated more than two hours before the closing, and meets the difficulty that it states."
        },
        {
          "at": "host-index",
          "title": "Host index",
          "text": "The index of a round covers every host that has a row in rounds 1 to this one, sorted. Its entry, in JCS, is {\"first_sequence\":n,\"head\":\"<hex>\",\"host\":\"…\",\"last_leaf\":n,\"rows\":n}: the round of the host's first row, the log index of its newest, how many it has, and a digest over all of them. With head of 32 zero bytes before the first row, the next is SHA-256(head ‖ SHA-256(exact bytes of the row)). A host with a row in this round has last_leaf in it; the entry of any other is that of the round before. previous_leaf of a row is the last_leaf of its host's entry before the round. The entries are leaves of a Merkle tree. Below rounds/<sequence>/hosts/ stand its tiles tile/<level>/<n> and bundles tile/entries/<n>, in the form of those of the log, and first.txt, the first host of each bundle on a line of its own. A host that is not in the index of the newest round has no row in any: its neighbours show that."
        },
        {
          "at": "log",
          "title": "Log",
          "text": "The log is one Merkle tree. Its leaves, in this order for each round, are the exact bytes of its rows, from first_leaf on; {\"digest\":\"<hex>\",\"file_sha256\":\"<hex>\",\"sequence\":n,\"type\":\"round\"}, where file_sha256 is of header.json; and {\"root\":\"<hex>\",\"sequence\":n,\"size\":n,\"type\":\"hosts\"} with root and size of its host index; both in JCS. The leaves between rounds are the exact bytes of observations, in the order of their numbers. No two rounds overlap; no other leaf stands in it. Tiles (c2sp.org/tlog-tiles): tile/<level>/<n> holds 256 hashes of 32 bytes; at level 0 leaf hashes, at level l roots of full subtrees of 256^l leaves. n is written in groups of three digits, all but the last with an x before them: x001/x234/067. A tile that is not full has .p/<width> behind its name. Bundles tile/entries/<n> hold 256 entries, each its length in two bytes, big-endian, and its bytes. Checkpoint (c2sp.org/tlog-checkpoint): three lines, origin, size in decimal and root in base64, an empty line, and signature lines: the dash U+2014, a space, a name, a space, base64, a newline. The base64, padded and strict, is a key id of 4 bytes and the signature of the three lines with their newlines. The id is the first 4 bytes of SHA-256(name ‖ newline ‖ 0x01 ‖ key); the log's name is its origin. A file of the record has the log's line alone. There is one at every size that a round ended with, and at that of the head. Cosignature lines of witnesses (c2sp.org/tlog-cosignature) have 0x04 in place of 0x01, and 8 bytes of a Unix time, big-endian, before the signature of cosignature/v1, time <seconds> and the three lines, each with a newline."
        },
        {
          "at": "observations",
          "title": "Observations",
          "text": "store-observation/v1, canonical, signed by an identity key, at most 16,384 bytes: {format, number, at, kind, …, kid, signature}, with the members of its kind between kind and kid and no others. at is a time. Kind Members retired_word word (words), epitaph? 1,000 bytes paid_refresh refresh {host, url, verdict, reached_level, failed, battery, fault, evidence_digest}, in the words and bounds of a row that was probed; its judgement is of that url and battery, and began not after at. Before 2026-09-01 its battery is v1 paid_walk walk {host, url, network, transaction, usdc, claim?, by?, charged_twice?, second_transaction?}; url as in a row, transaction of 1 to 128 visible characters of ASCII without \\, claim {status, body_sha256, bytes, latency_ms, content_type}, its digest may be empty, its content type is type/subtype in lower case, other, or empty. by is store, seller or stranger, as the walker says. charged_twice, with by alone, is of an order that was made again: yes, with a second_transaction that is another, or no unpaid_walk unpaid {host, url, network, usdc, claim?}: a purchase of the store's own in which no money moved, of what was signed for; without claim no answer came. What purchases come to declaration declaration {host, shape, doors, doors_left_out?, foreign}: at most 20 URLs of 12,288 bytes together, each at most 2,560 standing_note note {host, lane, statement, signed_at, pay_to?}; statement is words of at most 500 characters; lane wallet has pay_to {network, digest}, lane host has none published_tip tip {id, title, text, by?}; title, text and by are words; no file holds text, which is sold artifacts_issued issued {total, classes, certificates?}; {class, total} sorted by class, at most 64, which add up to total; certificates {through, size, root}: the Merkle root over the 32-byte digests of what size certificates were signed over, delivered up to the week through, which is over at at and after that of the one before key_event handover, as in the ring withdrawn withdrawn {sha256, reason}: the digest of words or of a judgement; a reason of 1 to 500 bytes roster roster {week, hosts, digest, height?, own}: see the lot erratum erratum {leaf, reason, verdict_now, evidence_digest?, kind?, cause?, checks?}: what the row at a log index should have said. The verdict is a row's; the digest is of what gives it, a judgement or the exact bytes of a paid walk, and is absent exactly where the verdict is not_probed and there is no kind: see the rules. kind instrument_error has a cause, one of these, and says that the verdict was false by a fault of the observer: its judgement has the exchanges of the row's own, byte for byte. checks are those that the row told falsely: of its failed those that are not failed now, or, of a row that was ready, those that are; on a paid walk all of its failed Words. What strangers wrote stands in an observation as {\"sha256\":\"…\"} alone: SHA-256(salt ‖ text), the salt 32 random bytes. The file words/<sha256>.json is {\"format\":\"store-words/v1\",\"salt\":\"<hex>\",\"text\":\"…\"} and a newline, the text of 1 to 8,192 bytes of UTF-8. No two files have one salt."
        },
        {
          "at": "keys",
          "title": "Keys",
          "text": "keys/ring.json is JSON indented by two spaces with a newline at its end: {format, current, retired, handovers}, format store-key-ring/v1. A current key is {purpose, public_key, kid, since}, one for each purpose, identity (which signs rows, rounds, observations, manifests), log, git, webhook, in this order. A retired one has retired_on besides. walkers? behind the handovers, where there are any, is at most 64 of {public_key, kid, since, retired_on?}, sorted by kid, retired ones too: the keys of walkers at other places, which are none of the others and sign nothing of the record. A handover is {format, purpose, from_kid, from_public_key, to_kid, to_public_key, effective, reason, last_head?, signature}, format store-key-handover/v1, signed by the outgoing key over its canonical bytes without the signature; there is one for each retired key, the handovers of a purpose lead from its first key to the current one, and dates agree. An identity key is in force from since to retired_on, both days included, and what it signed is dated within: a round by taken_at, its rows with it, an observation by at. A walker's key is in force on the same days, and the taken_at of the round of its vantages lies within. A log key's handover holds last_head {size, root}: the outgoing key signs up to that size, the incoming one from there on. At exactly that size either may sign, and the root is that one."
        },
        {
          "at": "proofs-of-time",
          "title": "Proofs of time",
          "text": "<calendar>-<n>.ots is a detached OpenTimestamps file, version 1, of the digest of the round. <height>.header is a block header, 80 bytes in hex and a newline, to which a proof's Merkle path must lead. An anchor is {version, sequence, taken_at, previous_digest, current_public_key, retired_keys, artifacts_issued_total}, canonical, its version 1; its digest is SHA-256 of it. The first is of the oldest identity key at the first moment of its since, with 64 zeros as previous_digest, retired_keys [] and a total of 0; the next ones follow from each observation of artifacts_issued and of a handover of the identity, dated as it is. previous_digest is the digest of the one before. A retired key is {public_key, retired_on}, in the order of their handovers."
        },
        {
          "at": "manifest",
          "title": "Manifest",
          "text": "manifest.json is canonical JSON and a newline: {format, base_url, content_digest, files, bytes, leaves_out, parts, root, kid, public_key, signature}, format store-manifest/v1, signed by the identity key in force. leaves_out lists {path, why}, the manifest itself and manifest.cosignatures.json among them. A part {path, directory, bucket, files, bytes, root, sha256} is one top-level folder: manifest/<directory>/all.json, or, above 4,096 files, 16, 256, … buckets named by the first hex digits of SHA-256 of a file's path. root of the manifest is the Merkle root over the canonical bytes of its parts, sorted by directory and bucket; that of a part is over those of its entries. A part's file is {\"format\":\"store-manifest-part/v1\",\"directory\":\"…\",\"bucket\":\"…\",\"files\":[, then each entry {path, size, sha256} on a line of its own, sorted, with commas between, then a newline, ]} and a newline."
        }
      ]
    },
    {
      "path": "/spec/store-report/v1",
      "title": "store-report/v1",
      "summary": "What the reports of the instruments have in common: words, members, order, and how a report is signed.",
      "parts": [
        {
          "text": "The store has five instruments that judge what somebody else serves: preflight (payment doors), a2a (agent cards), botauth (signature directories and cards), onpage (web pages) and conformance (signed offers and receipts). Each is a pure function of what was recorded: the same recording under the same version gives the same report for ever. This page is what their reports share; a version only ever adds members."
        },
        {
          "at": "states-of-a-check",
          "title": "States of a check",
          "text": "State Means pass as it should be warn it works, and breaks a recommendation or a custom fail it is wrong absent there is nothing of the kind, which is no fault by itself unreachable nothing answered unverifiable something was lacking to judge it; nothing is said against it not_reached it was not asked, because an earlier check did not pass or there was nothing to ask of not_checked outside of what was looked at Instrument States preflight pass, fail, not_reached a2a, botauth pass, warn, fail, absent, unreachable, unverifiable, not_checked onpage pass, warn, fail, not_reached, unreachable conformance pass, warn, fail, unverifiable, not_checked"
        },
        {
          "at": "members",
          "title": "Members",
          "text": "Member Holds Where it differs version of the battery or checker, such as v2 url what was looked at conformance judges an artifact and has none verdict one word for the whole preflight: ready, not_ready, unreachable, method_unresolved, not_probed; conformance: conforms, does_not_conform; the others: the worst state of a check checks a list of {name, state, detail}, every check, in the order of the version a2a has number, code, where and source, botauth has code and source, conformance has source; preflight has {name, ok, detail} for the checks that were reached and all of them in checks_vector as {name, state, blocked_by, detail} suggested_fixes a list of {check, fix}, one for each check that failed or warned preflight calls it remediation; conformance has none evidence {status, content_type, bytes, sha256} of the document that was judged; status 0 is no response a2a adds requests, onpage adds truncated; preflight has {status, headers, body_sha256, body_bytes, challenge, observed_at, digest} observed_at when it was recorded, RFC 3339 in UTC preflight has it in evidence; conformance has judged_at what_this_cannot_tell_you a list of sentences preflight has besides: reached_level and its meaning, advisories {name, detail}, which change no verdict, also_under {version, verdict, difference}, which is the verdict of the version before on the same recording (beside the oldest version, that of the next), protocols_spoken, protocols {name, verdict, why}, which judges x402, MPP and L402 one by one (ready, not_ready, not_judged), clients {client, package, configured, outcome, index, network, amount, stage, why, checked}, which is what known clients do with the answer, reason of not_probed (challenged by a bot wall, not_judged, inputs_lacking where the empty object of a POST was refused with 400 or 422 and no terms), probe_method {used, attempted, declared_by}, instrument {name, version, client, networks, request}, by what the verdict was reached: checker and battery, the stock client that is replayed, the table of chains and tokens, and the bytes of the request that was answered, without what whoever walks adds of his own (User-Agent, Signature), so that two reports which differ say in what, fault (none, door, path, instrument), single_probe_note and next_steps. A row of the record lists the verdicts of all other versions. What an answer adds around a report, such as rate_limit or store_identity, is no part of it."
        },
        {
          "at": "signing",
          "title": "Signing",
          "text": "A report is signed as the bytes that were given: compact JSON in UTF-8, members in the order above and below, without those that are absent. A signed artifact carries these bytes as one JSON string and their SHA-256 as its digest, and never the report written anew: some reports repeat what a stranger wrote, in the stranger's own spelling of numbers. The signature and its key are those of store-attestation/v1. Instrument Order of members preflight version, url, verdict, reason, reached_level, reached_level_meaning, checks, checks_vector, advisories, also_under, protocols_spoken, protocols, clients, probe_method, instrument, evidence, remediation, fault, single_probe_note, what_this_cannot_tell_you, next_steps a2a version, card_version_checked, url, verdict, valid_0_3_0, dialect, checks, signatures, evidence, suggested_fixes, gaps, observed_at, what_this_cannot_tell_you botauth version, url, kind, verdict, checks, keys, evidence, suggested_fixes, observed_at, what_this_cannot_tell_you onpage version, url, verdict, checks, suggested_fixes, evidence, observed_at, what_this_cannot_tell_you conformance version, verdict, kind, format, live, key_resolution, signer, checks, header, payload, judged_at, what_this_cannot_tell_you"
        },
        {
          "at": "what-it-does-not-prove",
          "title": "What it does not prove",
          "text": "That what was looked at is the same at another time, from another place or to another caller. A signed report proves who said it and when."
        }
      ]
    },
    {
      "path": "/tips",
      "title": "Tips",
      "summary": "Small things learned at the counter, by the keeper and by those who passed on what they knew. A cent each.",
      "parts": [
        {
          "text": "A tip is a paragraph or three on one thing that somebody found out by getting it wrong. It is for the trade: those who build doors that ask to be paid, and those who write what pays at them. The index says who is to be thanked. Nothing is put up here unread, and what is not signed with a name is the keeper's own."
        }
      ]
    },
    {
      "path": "/try",
      "title": "Check a seller's endpoint",
      "summary": "Paste an address that asks to be paid, and read what a stranger's program finds there.",
      "parts": [
        {
          "at": "what-happens",
          "title": "What happens",
          "text": "The store makes one request to the address, as a buyer would, and pays nothing. Where the endpoint (a door, in the record) says that it wants a POST, version 2 of the questions sends one with an empty object. No redirect is followed; after eight seconds or 256 KiB the check ends. The report names every check with what was seen, says on whose side a fault lies as far as one look can tell, and gives the way to put it right. The same report as JSON is at POST /api/preflight/v2, and what each check asks and why is at /criteria. Signed offers and receipts have an instrument of their own: /conformance."
        },
        {
          "at": "what-does-not-happen",
          "title": "What does not happen",
          "text": "Nothing is bought and no wallet is asked for. Nobody is rated, neither the endpoint nor whoever keeps it. The raw answer stays in the store; what is shown has the addresses to pay replaced by their digests."
        },
        {
          "at": "before-it-goes-live",
          "title": "Before it goes live",
          "text": "The same questions are asked from a command line and in a build: store check URL. It writes text, JSON, SARIF or JUnit, keeps what it saw in a file, and judges that file again without a network. store check -local http://localhost:3000/paid reads an endpoint before anybody else can; -discover reads every endpoint that a host's own files name; -method POST -data '{\"city\":\"Lisbon\"}' asks an endpoint of your own with a body, before its files say that it takes one; -baseline fails a build only for what got worse. check -drift URL holds what the host declares of the endpoint against what the endpoint answers: /.well-known/x402, /openapi.json with x-payment-info, the offers of MPP in it, the MCP server card (/.well-known/mcp/server-card.json, else /mcp/server-card) with the tools of the endpoint that it names, and the A2A agent card. It compares network (of MPP, the payment method), price, payTo, method and inputs. Buyers pay by the answer, so where the two disagree the declaration is wrong: one finding for each declaration and member, with both values, the document and its line, in text, JSON, SARIF and JUnit. The exit code is 5 where nothing else was found. What cannot be read is said and held against nobody, and so is a method that was neither tried nor named in the challenge. It takes at most six more requests to a host, one of them a POST of tools/list where a server card names an endpoint of the host, and reads at most 2 MiB; no tool is called. With -facilitator URL it also asks that facilitator what it lists of the addresses that the endpoint is paid at (discovery/merchant), says whether the endpoint is among it, and holds the terms that are listed against the endpoint's own. check -pay wallet.key -max-usd 0.10 URL buys: it signs a payment, takes the good, verifies settlement and receipt, and then loses the answer to a payment in seven ways, one order each. Whoever has paid must get what was paid for when the same payment comes again, and must not be charged twice when asked to pay anew. With -rpc, on Solana -solana-rpc, the chain is asked what was charged. What is signed never adds up to more than the cap. A wallet that holds the cap and nothing else is the right one. With -publish https://store.example, the address of a store with a record, one of the purchases is told to it, for everybody to read: first it says what is told. Writing a client? store practice, or go run ./cmd/devnet practice in a clone, opens a store that takes payments on local chains, names the key of a buyer with play money, and serves the practice endpoints beside it, with a scoreboard of what your client did at each."
        }
      ]
    },
    {
      "path": "/verify",
      "title": "Check a signature",
      "summary": "Everything the store signs can be verified free, without an account or a limit, by anybody who has its id or its bytes.",
      "parts": [
        {
          "text": "The form of this page checks in your browser, with the keys that the store publishes: of an id it asks the store for the paper, and what you paste is sent nowhere. Each line says what holds before the verdict does; one changed byte is refused, and what a specimen key signed is called a specimen as loudly. For programs, https://store.example/api/verify/ followed by an id answers with the certificate, its signature, the exact bytes that were signed and the key that signed them. Valid means three things, all of which have been computed and none assumed: the signature fits the bytes, the key is one that this store has published, and the fields on display are those in the signed bytes. Any field that the signature does not cover is listed by name. Reversed means that a chain took back the payment after the certificate was issued. It is rare. The signature still fits; the sale no longer stands. A retired key goes on verifying what it signed while it was in use. The answer gives the day it was retired. You need not take our word for any of this, since the word of a shop about its own paper is worth what you would expect. The format is described here, down to commands you can type. Evidence from the record, in one file or as a whole clone, is checked in your own browser or by a small program, with no network and none of our server's code. A log that shows one history to you and another to everybody else is found by witnesses, who sign its head after they have compared it with the one before. Our policy names the key of the log and those witnesses, in a form that other programs read too; verify -policy FILE holds a clone against it, or against one of your own. It checks the proof of a single row too, a .tlog-proof file, which verify -proof HOST@ROUND CLONE writes."
        },
        {
          "at": "follow-the-record",
          "title": "Follow the record",
          "text": "One check says that the record was whole on that day. Whoever wants to know that it stays so, and what it says of a door of his own, follows it: verify -follow https://store.example/corpus -remember store.state -host door.example -exec ./alarm. Each run is one step, made for cron. It reads static files, from us, from any copy on any server, or from the folder of a clone, and goes on from the head that it remembers: the log must go on from there, each new round must follow from the one before and stand in the log, and everything else in it must be an observation, so that no week is hidden. Of each host that is named, the entry in the newest index must be the fold of the one before and of the new rows, and a week without a row must have none. It then says what changed, a line each: the row, the verdict, the addresses that money is asked to (by digest), the tier, and what was observed, corrected or withdrawn between two weeks. The first run has nothing to compare with and takes what it sees; -ring FILE, with keys that you learned elsewhere, and -policy FILE leave less to that. With -policy a head is taken once its witnesses have signed it. With -mirror https://mirror.example, the monitoring prefix of a mirror or a witness of the log, the head has to be of the same history as the one shown there; it may be given up to 16 times. A mirror is believed nothing but what the log itself signed, so that its key is not asked for, and one that is away stops nothing: the line says so, and the status is 4. Exit status Means Remembered 0 All of it holds The new head 1 A file could not be had, or another run is at work, or what was remembered is damaged; a later run may do As before 2 Called wrongly As before 3 Something does not hold: a row, an index, a signature, a tile, a date. The line names the file and the rule As before 4 What is there holds and does not show what it should: an older head, as a cache may have it, or no quorum As before 4 The week of -as-of is not there yet, or a mirror is away or has more than is shown here The new head 5 The log signed two histories As before Of a fork both signed heads stay beside the file of -remember, with a proof that one does not go on from the other: send them to everybody you know. On 3 and 5 the program of -exec is run, with the report as JSON on its standard input and STORE_EVENT set to refused or fork; what strangers wrote is in the former alone. -json prints the same report. A clone that is checked with -remember FILE ends with the same numbers: 4 for an older copy, whose log ends before the head that was seen, and 5 for one whose log has another root there."
        }
      ]
    },
    {
      "path": "/verify/run",
      "title": "Check evidence here",
      "summary": "Hand in a bundle or a clone; it is checked in this browser, by the program that anybody can run, and nothing is sent anywhere.",
      "parts": [
        {
          "at": "what-is-checked",
          "title": "What is checked",
          "text": "Of a bundle: that every row is signed by the store's key and stands in its place in its round; that the round is signed and stands in the log; that the rows of each host are all that it has up to the newest round, as one proof commits to the whole list, or that it has none; that all of it belongs to one log; what the proofs of time show; and that the verdict follows again from what is kept of the walk. One changed byte is refused. A bundle may have been cut, and a history with its bad weeks cut out is no history. One that lacks a row of a host, from its first to the newest round of the bundle, is unproven, and the rounds are named that it may be of; so is one that does not show that no round stands behind its newest. It says up to which round it is complete. Whether the record went on since then, only a newer checkpoint tells, or the week that you demand. Of a clone: all of that for every row, and that nothing was left out, added or moved. Names that differ in case alone, links, and entries that lead out of the folder are refused."
        },
        {
          "at": "what-it-rests-on",
          "title": "What it rests on",
          "text": "On two public keys. They come with the thing that is checked unless you hand in keys that you learned elsewhere; then they must be those, or follow from them by signed handovers. The identity is printed, to be compared with the published one and with one from another place. A store that signs two histories shows different ones to different people. A checkpoint that you kept finds that out: a log that does not go on from it is refused, whoever signed it. A key of the log that was given up signs nothing more: its handover holds the last head that is its own, and its signature under a larger one, or one that does not lead there, is refused, like that of its successor under a smaller one. The page works from any plain file server, so a saved copy of it goes on working. The format of a bundle and that of the record are described for those who would rather write a verifier of their own."
        },
        {
          "at": "without-this-page",
          "title": "Without this page"
        }
      ]
    },
    {
      "path": "/what",
      "title": "What you are being asked to approve",
      "summary": "One payment, for one good, of an amount you can see; nothing recurs and no access to the wallet is given.",
      "parts": [
        {
          "text": "An agent of yours would like to buy something in this shop. You are the one who says yes. Here is what yes means."
        },
        {
          "at": "the-money",
          "title": "The money",
          "text": "One payment. The signature allows one transfer of one exact amount to one address before one deadline. It cannot be used again and it cannot be raised. The amount is on the price tag and in the terms. Most of the shelf costs between half a cent and twenty dollars; goods marked as paid what they deserve offer up to five times their least price, and only the agent's choice decides which. Nothing recurs. There are no subscriptions, accounts or stored cards, and no allowance over the wallet. The currency is USDC. The buyer needs no gas; the store pays for the transaction."
        },
        {
          "at": "the-goods",
          "title": "The goods",
          "text": "They are words, drawings and signed certificates. They are meant to be pleasant. They are not investments, they do nothing to any other system, and there is nothing to install."
        },
        {
          "at": "if-it-goes-wrong",
          "title": "If it goes wrong",
          "text": "Not delivered means not charged: goods are made first and the money is moved after. If it is unclear whether the money moved, the store says unknown and finds out from the chain. The buyer repeats the same payment or reads its status, and must not sign another. What is owed is paid back to the wallet that paid, on the same network."
        },
        {
          "at": "what-to-check-before-you-say-yes",
          "title": "What to check before you say yes",
          "text": "The payment's receiver and network must be those in the signed offer, and the offer's key must be the one at /.well-known/did.json. Client libraries commonly stop at one dollar unless told otherwise. That is a good habit, and raising it is your decision and not ours. The shop itself is a program that anybody may run: Running a store says how."
        }
      ]
    },
    {
      "path": "/zodiac",
      "title": "The zodiac",
      "summary": "Twelve signs for wallets. Each wallet has one, for as long as it has an address, and a page a week to go with it.",
      "parts": [
        {
          "text": "People have the sky. A wallet has an address, which is as hard to choose as a birthday and a good deal more exact, so we read from that. A wallet's own page is at /zodiac/ and its address: https://store.example/zodiac/0x000000000000000000000000000000000000dEaD, for one that nobody is likely to come for. It costs nothing, it is the same for everybody who asks in the same week, and we keep no list of who did. The week is the ISO week and turns on Monday at midnight, UTC. When a week is over its twelve pages go to the archive, where a page costs a cent. What a page says is not a forecast. It is written a season ahead by somebody who cannot know what you will do, which is also true of forecasts."
        }
      ]
    },
    {
      "path": "/zodiac/archive",
      "title": "Weeks that are over",
      "summary": "The zodiac's past weeks, a page for each sign. The headings are free, and a page is a cent.",
      "parts": [
        {
          "text": "While its week lasted each of these stood open at the address of any wallet with the sign. Now they are shut, like everything that was free until Monday. Every heading below is signed in the JSON together with a commitment to the text behind it. Who buys the page gets the salt as well, and can show that the text is the one that stood there."
        }
      ]
    },
    {
      "path": "/running/configuration",
      "title": "The configuration of a store",
      "summary": "Every key of store.toml with its meaning, table by table, as store config prints it.",
      "parts": [
        {
          "text": "These are the keys of store.toml, the file that a keeper writes; store init makes one, and store config prints this example whole. Unknown keys are refused. Relative paths are relative to the file, and secrets are paths to files of mode 0600."
        },
        {
          "at": "the-store",
          "title": "The store",
          "text": "# The store's public address, without a slash at its end. Links, offers, receipts and certificates # use it; a request's Host header never does. base_url = \"https://store.example\" # Address to serve on. Put a TLS-terminating proxy or CDN in front of anything that is not loopback, # or let the store"
        },
        {
          "at": "keys",
          "title": "keys",
          "text": "# Keys. Make them with: store key init [keys] # Signs certificates, offers, receipts and the published tree (ed25519, PKCS#8 PEM). 'specimen' is # the public specimen key, for loopback only. identity = \"var/keys/identity.pem\" # Identity keys that were handed over but may still have to sign what was"
        },
        {
          "at": "tls",
          "title": "tls",
          "text": "# TLS without a proxy: certificates from an ACME CA, or one of your own. [tls] # Folder of certificates, their keys and the account with the CA; replicas share it. Given, listen # speaks HTTPS (HTTP/1.1 and 2) with a certificate for the host of base_url, which is had from the # CA by ACME and renewe"
        },
        {
          "at": "network",
          "title": "network",
          "text": "# The networks payments are taken on, in the order in which they are offered. [[network]] # CAIP-2 id. Known ones bring asset, domain, genesis hash, depth and cost with them. id = \"eip155:8453\" # JSON-RPC addresses, in order of preference. With two or more, both of the first two must say that # a p"
        },
        {
          "at": "gas",
          "title": "gas",
          "text": "# What may be spent on settling beyond what payments bring. A day ends at midnight UTC; replicas # share it. [gas] # What the first network may give a day to sales whose price is below twice the cost of settling, in # USDC. When it is spent, that network is left out of their terms too. Empty is 0.50"
        },
        {
          "at": "vouchers",
          "title": "vouchers",
          "text": "# Purchases out of channels, by vouchers, on the first network: see /docs/vouchers. [vouchers] # File (0600) of 64 hex digits, as openssl rand -hex 32 makes: the key that claims. It moves money # to pay_to and back to payers alone. Keep a copy. Empty takes none. key = \"var/keys/vouchers.key\" # How"
        },
        {
          "at": "instruments",
          "title": "instruments",
          "text": "# The free instruments: how strangers' doors are reached, and how often. [instruments] # Address of a page that says who probes and how to reach him; it stands in the User-Agent of every # probe. Empty takes base_url and /criteria. contact = \"https://store.example/criteria\" # Further names of this"
        },
        {
          "at": "census",
          "title": "census",
          "text": "# The weekly census: which hosts are walked, and how. store serve runs it on Sundays where seal_hour # says so; store census runs it, in as many processes as you like. [census] # File of doors of your own choice: a URL a line, or the name of a host whose /.well-known/x402 is # read. Empty is none. l"
        },
        {
          "at": "arrivals",
          "title": "arrivals",
          "text": "# Further networks, on which nothing is sold, where the census counts what arrives in USDC at the # addresses that doors advertise. Those of network are counted without a word here. [[arrivals]] # CAIP-2 id, such as eip155:480 for World Chain: of a network whose USDC this store knows. id = \"eip155:4"
        },
        {
          "at": "discovery",
          "title": "discovery",
          "text": "# Bazaar-style discovery APIs that name doors to the census, in the order of their weight. [[discovery]] # What rounds call it: rows that it listed name it as their catalog. It is for ever. name = \"bazaar\" # Address before /discovery/resources. url = \"https://facilitator.example/platform/v2/x402\""
        },
        {
          "at": "timestamps",
          "title": "timestamps",
          "text": "# Proofs of when a round existed, which store stamp makes. Run it after each census and now and then # until no proof is pending. [timestamps] # OpenTimestamps calendars or pools that each round's digest is handed in at, and each that a buyer # of bitcoin_anchor brings: two or more. Empty sells no b"
        },
        {
          "at": "witness",
          "title": "witness",
          "text": "# Whom store witness shows the head of the record's log, so that nobody can be shown another. [[witness]] # Its submission prefix: the address before /add-checkpoint, without a slash at its end. url = \"https://witness.example/prefix\" # Its verifier key, name+id+base64 (c2sp.org/tlog-cosignature; Ed"
        },
        {
          "at": "facilitator",
          "title": "facilitator",
          "text": "# What store facilitator does: it settles other sellers' x402 payments over the networks above, by # POST /verify and /settle and GET /supported. It is off until listen and pay_to are given. Give it # a configuration and relayer accounts of its own, or share one postgres ledger with the store; two #"
        },
        {
          "at": "payouts",
          "title": "payouts",
          "text": "# How debts are paid back: refunds, and orders past their window. store keeper pay signs, and store # serve never reads the key. [payouts] # File (0600) with the hex key of the account that pays, on every network with EIP-3009. Its own: # neither relayer nor pay_to. It holds no more than what is owe"
        },
        {
          "at": "launch",
          "title": "launch",
          "text": "# Launch checks: a purchase of at most 0.05 USDC at a stranger's door, for whoever paid for that. # They are not sold until key is given. [launch] # File (0600) with the hex key of the account that buys. Its own: neither relayer, pay_to nor payout # account. It holds a few USDC on each network that"
        },
        {
          "at": "bounties",
          "title": "bounties",
          "text": "# The bounty board: rewards, posted with store keeper post-bounty, for who buys once at a named door # and shows the transaction. [bounties] # File (0600) with the hex key of the account that pays rewards, on every network with EIP-3009. # store serve signs with it, so it is an account of its own, n"
        },
        {
          "at": "trade",
          "title": "trade",
          "text": "# Who buys on account: marketplaces that order by signed webhooks and pay later. store keeper # accounts says what each owes. The account sandbox is always there. [[trade]] # Its id in addresses: lower-case letters, digits and hyphens, at most 40. It is for ever: what was # delivered to it is found"
        },
        {
          "at": "upstream",
          "title": "upstream",
          "text": "# The HTTP addresses that goods of kind upstream may ask: any service of yours, sold by its answers. # See /docs/goods. [[upstream]] # What may be asked by goods of kind upstream: an address, or with a slash at its end all addresses # that begin so, such as https://api.example/v1/. Redirects are not"
        },
        {
          "at": "desk",
          "title": "desk",
          "text": "# The keeper's desk in a browser: what waits, answers to orders, the monthly note, sales. It is on, # on loopback, unless listen says off. Payouts and key handover are done on the command line alone. [desk] # Loopback address of the desk. Empty is 127.0.0.1:4022, and off turns it off. From another m"
        },
        {
          "at": "server",
          "title": "server",
          "text": "# Limits of the server. The defaults are right for one machine. [server] # Address ranges of proxies whose X-Forwarded-For is believed. trusted_proxies = [] # How long a purchase waits for the chain before it is answered 'not known yet'. A proxy in front # must wait a quarter of a minute longer. se"
        }
      ]
    },
    {
      "path": "/glossary",
      "title": "Words",
      "summary": "What the words of these pages mean, and which words the signed record and the API have for the same.",
      "parts": [
        {
          "text": "Pages for people say the word on the left. The signed record, the API and the programs say the one beside it, which is never changed, because it has been signed."
        },
        {
          "at": "selling-and-buying",
          "title": "Selling and buying",
          "text": "Here In the record and the API What it is good item Something on a shelf, with a price and a page. seller's endpoint door An address on the web that asks to be paid before it answers. A seller's host may have many. terms challenge, 402 What an endpoint answers to who has not paid: amounts, networks, and to whom. payment authorization What a wallet signs: one transfer, to one payee, good for a few minutes. certificate certificate What is signed for a buyer: what was sold, on which day, for which payment. patron number patron_number The number of a sale. There are no gaps. given back by the chain reversed A payment that its network took back after the sale. Its certificate is void. owed refund_owed Money that was taken and not earned, which goes back to the wallet it came from."
        },
        {
          "at": "checking-sellers",
          "title": "Checking sellers",
          "text": "Here In the record and the API What it is check walk, probe One look at an endpoint, as a buyer would look, without paying. weekly round round, census The checks of one week, each in a row, signed together and linked to the week before. the record corpus All weekly rounds, and what was seen between them, in a log that only grows. checks of a report battery The list of questions that one report answers. A list has a version and is never changed. question check One of them, such as whether the answer may be cached. advice advisory What a report adds and the verdict does not follow. reader's list roster The hosts that a week is to check, closed before it begins. our own test endpoint control door It is known to work: when its check fails, the fault is ours and the round says so. standing tier What our rounds saw of a host over weeks. It says nothing about whoever keeps it. practice endpoint practice door An endpoint that is wrong on purpose, for trying a client."
        },
        {
          "at": "what-a-check-comes-to",
          "title": "What a check comes to",
          "text": "Here In the record and the API What it is ready ready A buyer's program could pay there. not ready not_ready It answered, and a buyer's program could not pay. did not answer unreachable No answer came, and our own line was in order. not checked not_probed It was due and we did not ask. That is a gap of ours. our own fault observer_degraded No answer came while our own line was at fault. on the list only listed_not_walked It was named and not checked: nothing is said of it. turned away turned_away It answered in a way that let nobody look further. the chain not asked bitcoin_unchecked A proof of time that says which block holds it, and the block was not looked at. looked for, not seen cleared_not_examined A sign of a fault was looked for once and not seen. The fault is not ruled out."
        },
        {
          "at": "why-a-week-has-no-check-of-a-host",
          "title": "Why a week has no check of a host",
          "text": "None of these says anything against the host. Here In the record and the API What it is before we knew it before_first_sighting No source had named it yet. on no list not_listed No source that was read named the host. maybe beyond the limit possibly_beyond_cap No row, and the round was capped. our own fault instrument_degraded Nothing answered, by our own fault. beyond the week's limit beyond_cap The week's cap came before its turn. no time left week_over The week ended before its turn. interrupted interrupted The process died in the walk, not repeated that week. our own line failed control_failed Neither host nor control door of the batch answered. takes no GET method_unresolved Not exercised: GET refused, no method named. wants inputs first inputs_lacking Not exercised: wants inputs first. challenged challenged Turned away: a bot wall answered. could not be judged not_judged It could not be judged. asked not to be checked opted_out Its own file asks not to be walked, which does not lift broken. no time recorded not_recorded No time was recorded. leads where we never go target_refused It leads where our client never goes: a private address, another port, no https. it is this store own_host_refused The host is the store's own. erratum erratum An erratum says it is no observation."
        },
        {
          "at": "proving",
          "title": "Proving",
          "text": "Here In the record and the API What it is key kid What the store signs with. Its public half is published, so that anybody can check. digest sha256 A number that fits one text only. log transparency log The record's list of everything signed, whose older part no later one can change. proof of time OpenTimestamps That something was there before a block of Bitcoin. correction erratum What a row should have said, signed beside it. The row itself stays."
        }
      ]
    },
    {
      "path": "/docs/clients",
      "title": "Clients, and what each signs",
      "summary": "Which of several ways to pay each known client takes, by its version and its limits.",
      "parts": [
        {
          "text": "What a client signs at an endpoint that offers several ways to pay is decided by its code, version by version. /try says of an endpoint what each of these would sign there, and so do check and the reading before a payment (the_door.clients). A client that was run stood beside its model at the same endpoints, and both did the same. Of one that was read its sources say so. Client Its limits Signs Known by @x402/fetch 2.27.0 default the first entry with a scheme and network that are registered, in a default asset of its table, of at most $1; an authorization before other payment flows a run @x402/fetch 2.27.0 unlimited the first entry with a scheme and network that are registered, in any asset and of any amount; an authorization before other payment flows a run @x402/fetch 2.27.0 with batch-settlement of @x402/evm registered default the first entry with a scheme and network that are registered, in a default asset of its table, of at most $1; an authorization before other payment flows; of exact and batch-settlement the one that stands first, with a deposit of at most $5 a run @x402/fetch 2.27.0 with auth-capture of @x402/evm registered default the first entry with a scheme and network that are registered, in a default asset of its table, of at most $1; an authorization before other payment flows; so auth-capture behind escrow is signed only where no exact is offered a run @x402/axios 2.11.0 with @x402/core 2.11.0 unlimited the first entry with a scheme and network that are registered, in any asset and of any amount a run @x402/core 2.21.0 unlimited the first entry with a scheme and network that are registered, in any asset and of any amount a run x402-fetch 1.2.0 default the first entry of the body in USDC of its table, else the first, of at most 100000 atomic units a run x402-fetch 1.2.0 unlimited the first entry of the body in USDC of its table, else the first, of any amount a run x402-axios 0.7.2 with x402 0.7.3 unlimited the first entry of the body in USDC of its table, else the first, of any amount a run x402 2.8.0 of PyPI, read from its sources unlimited the first entry with a scheme and network that are registered, in any asset and of any amount; later versions have limits, which were not read here reading github.com/x402-foundation/x402/go 2.9.0, read from its sources unlimited the first entry with a scheme and network that are registered, in any asset and of any amount; later versions have limits, which were not read here reading mppx 0.11.0, method evm default the first evm charge whose credentialTypes list authorization; none where one challenge of the answer cannot be read a run @x402/mcp 2.10.0, read from its sources default terms of a tool of MCP; no door of HTTP reading pay of solana-foundation, read in part from its sources default on Solana, the main network before others; which of several entries was not read reading"
        },
        {
          "at": "vouchers-and-holds",
          "title": "Vouchers and holds",
          "text": "By batch-settlement a client deposits money into a channel and signs a voucher out of it with every call; by auth-capture it gives the price into an escrow, which holds it until the seller captures it or lets it go. Clients pay so on EVM networks where their owner registered the scheme, and pass such an entry over otherwise. /try, check and the reading before a payment say in stakes what would be signed there, what of the buyer's money is put at risk until when, who may take it, and how the rest comes back. A verdict is about exact alone: an endpoint that offers these schemes and nothing else is not_probed: not_judged in the record, never not_ready. What stands against an entry of theirs is an advisory of these, which rows of the record do not name. Advisory What it says, and what it costs The way out batch-not-signable A batch-settlement entry at which the client throws. The client chooses it by its place and signs nothing then, nor the entries behind it: the buyer loses the call, and no money. Give extra.receiverAuthorizer the address of a key of yours, which claims and refunds, and the token's \"name\" and \"version\"; leave extra.assetTransferMethod out, or set it to eip3009 or permit2. batch-withdraw-delay A withdrawDelay that is not what the client or the escrow takes. What is no number is read as 900 seconds, and the seller then finds another channel than its own; one outside 900 to 2592000 is signed, and its deposit reverts. Either way the call is refused, and no money moves. Write extra.withdrawDelay as a number of seconds from 900 to 2592000, such as 1209600. batch-withdraw-delay-short A withdrawDelay of less than a day. After it a payer is gone with the deposit, whatever vouchers say that were not claimed. It costs the payer nothing but calls that a careful seller refuses meanwhile. Ask for a day or more, or claim vouchers well within the delay and watch WithdrawInitiated. batch-min-deposit A minDeposit that the client does not deposit. It passes over one that is no text of digits, or below the amount, and deposits five times the amount; of one above five times its ceiling, which is 5 USD unless somebody raised it, it deposits that much. A seller that enforces its minDeposit refuses the call; no money moves. Write extra.minDeposit as text of digits, at least the amount and at most 5 USD (\"5000000\" of USDC), or take smaller deposits. batch-on-several-networks Entries of batch-settlement on more than one network. After a lost answer the client reads the first of them, whatever the network of its channel: it does not recover, and its deposit on the other network waits for its way out. Offer batch-settlement on one network at a door, and on others at addresses of their own. batch-without-exact batch-settlement without exact beside it. A client whose owner did not register the scheme passes the entry over, which most are; the buyer cannot pay, and loses nothing. Offer an entry with scheme \"exact\" before it. batch-refund-by-get A refund that is asked for by GET at a door that takes POST. The client asks for what is left of a deposit with GET at the door's address. Where that is no route, the money comes back by the payer's own withdrawal alone, after the delay and for gas. Answer GET at the same address with the same terms, and a refund with the answer of the scheme. capture-not-signable An auth-capture entry at which the client throws. The client signs nothing at such an entry: the buyer loses the call, and no money. Give extra the token's name and version, captureAuthorizer and feeRecipient as addresses, and captureDeadline, refundDeadline (seconds since 1970), minFeeBps and maxFeeBps as numbers. capture-escrow-foreign An escrow contract that the client does not know. It knows two, of commerce-payments v1.1 and v1.0, and throws at any other: the buyer loses the call, and no money. An older copy of the specification names a third. Leave extra.authCaptureEscrow out, or name 0xf96815976523E00e65Be8f34cA5e64b4f41EB19c. capture-deadlines Deadlines under which the escrow takes no hold. The client signs without looking at them, and the escrow reverts: the end of the signature must come before captureDeadline, and that not behind refundDeadline. The buyer loses the call, and no money. Put captureDeadline beyond now + maxTimeoutSeconds and the time that the order takes, and refundDeadline at it or behind it; both in seconds since 1970. capture-fees A fee is taken out of what is captured. The buyer pays no more than the amount; the fee is the seller's, and a refund of all of it has to be made up by the operator. Set extra.minFeeBps and extra.maxFeeBps to 0 where nobody takes one. capture-behind-exact auth-capture beside an entry that the client prefers. paymentFlow escrow loses against every authorization, and without the field the first entry is signed. The buyer then pays at once what could have been held. List auth-capture alone at an address of its own, and exact at another. The deposit is what the seller names in minDeposit, or five times the price, and at most five times the client's limit: 5 USD where nobody raised it. A voucher has no end; a hold has one in its terms."
        }
      ]
    },
    {
      "path": "/menu",
      "title": "/menu",
      "summary": "Leads people to the shelves, and programs to /menu.json."
    },
    {
      "path": "/api",
      "title": "/api",
      "summary": "Leads people to /docs/api, and programs to /openapi.json."
    },
    {
      "path": "/retired-words",
      "title": "/retired-words",
      "summary": "The public register of retired words."
    },
    {
      "path": "/problems",
      "title": "/problems",
      "summary": "Every problem code."
    },
    {
      "path": "/spec/store-corpus/v1/rules",
      "title": "store-corpus/v1: the rules",
      "summary": "What a verifier of the signed record refuses, by a name for each rule and in the order in which it is looked at, and the test vectors.",
      "parts": [
        {
          "text": "What the record is, byte for byte, is in store-corpus/v1, and what its rows were judged by in store-evidence/v1. This page has the rules of both; a verifier can be made from the three and nothing else. Each rule has a name, the same in every verifier and for ever. A verifier goes through a record in the order of this table, and names the first rule that is broken; one that goes on may name further ones. Rule Is broken by file.kind A link, a device, or anything else that is neither a file nor a folder. file.name Two names that differ in case alone. file.size A file that is larger than its bound. file.missing A file that has to be there and is not. ring.form A ring or a handover that is not of its form, or is spelt in another way. ring.key Not one key for each purpose in its order, a key twice, or a kid that is not the thumbprint of its key. ring.handover Handovers that do not lead from each purpose's first key to its current one, or whose dates or last heads do not agree. ring.signature A handover that the outgoing key did not sign. ring.known A ring that is not the one that the verifier holds, and neither goes on from it nor is its beginning. manifest.form A manifest that is not of its form, or is spelt in another way. manifest.key A manifest by a key that is no identity key of the ring. manifest.signature A manifest whose signature does not fit. manifest.root Sums or a root that are not those of its parts, or parts that are out of place. manifest.part A part that is missing, unknown, or not the one that the manifest commits to. manifest.missing A file that the manifest lists and that is not there. manifest.added A file that the manifest does not list. manifest.changed A file that is not of its size and digest in the manifest. round.form A header that is not of its form, or is spelt in another way. round.battery A battery that is not known, or a digest that is not that of its document. round.parts Parts that are too long, too short, or do not add up to its rows. round.control Control walks that do not add up. round.inflows Inflows of no time, or a network whose reason or addresses left out do not go with read. round.digest A digest that is not that of the header. round.week A taken_at before its week begins, more than thirteen weeks after it ends, or more than a day later than a time at which it was there: that of a cosignature by a known witness. round.key A header by no identity key in force at taken_at. round.signature A header whose signature does not fit. round.sequence A header that stands in the place of another. round.previous A previous_digest that is not the digest of the round before. round.origin An origin that is not that of the round before. round.later A week or a time that is not later than that of the round before. round.lot No lot, though the round before has one. round.probed A previous_probed that is not what the round before counts. observation.form An observation that is not of its form or its kind, has a text in it, or is spelt in another way. observation.key An observation by no identity key in force when it is dated. observation.signature An observation whose signature does not fit. observation.number An observation that stands in the place of another. handover.told A handover that is told twice, or that the ring does not have. issued.falls Counts of artifacts that fall. issued.week A tree of certificates of weeks that one before it is of. observation.date An observation dated more than a day before the round that it follows in the log, more than a day after the one that follows it, or more than a day later than a time at which it was there. proof.header A block header that is not of its form. proof.form A proof of time that is not of its form. proof.digest A proof that is not of the digest of its round or anchor. proof.block A proof that a block header at hand contradicts. proof.date A round or an anchor that is dated more than a day after a block at hand that holds it. lot.twice A roster that is closed twice. round.place Rows that do not begin in the log where what stands before them ends. part.digest A part that is not of its digest. part.rows A part with another number of rows than its round says, or without a newline at its end. row.form A row that is not of its form, or is spelt in another way. row.url A url that is no address of the row's host over https. row.walk A row with a member that its verdict does not have, or without one that it has, or ready at a level below the first that its battery calls so. row.key A row by another key than its round. row.signature A row whose signature does not fit. row.round A row of another log, round or week. row.date An observed_at before the week of the round, more than a day after it, or after its taken_at; a minute is allowed before and at taken_at. row.vantage A vantage whose id is no walker's key in force at taken_at, or two looks that rest on one judgement. row.sorted Rows that are not sorted by host, or a host twice. evidence.pair A pack without its index, or the reverse. evidence.index An index that is not of its form, or not as long as its pack. evidence.withdrawn A judgement that is there although an observation withdrew it. evidence.missing A judgement that is not there although none withdrew it. evidence.named A judgement that no row, or no control walk, names. evidence.gzip A member that is no gzip as it is written here. evidence.digest A judgement that is too long or not of its digest. judgement.form A judgement or an opt-out that is not of its form. judgement.door A judgement of another door or time than what rests on it, by another battery, or an opt-out of another host. judgement.verdict A row, a refresh, an erratum or control figures that say something else than their judgements give. This takes the battery. row.previous A previous_leaf that is not the host's row before. round.coverage Counts that are not those of the rows: coverage, walked. lot.closed A lot of a roster that no observation closed before the round's rows. lot.roster A lot of another roster than the one that was closed, or than the rows give. lot.turn A host beyond the cap whose turn came before that of one that has its place. lot.height A lot by another block than the one that was fixed. lot.own A value of the keeper's own that is not the one that was fixed. lot.date A block that was there when the roster was closed. lot.work A block that does not meet the difficulty that it states. lot.walk A roster that was closed more than a minute after a host of it was walked, or a block that is dated more than two hours after. index.fold A file of a host index that is not what all rows up to its round give. log.tile A tile or a bundle of the log that is not what rounds and observations give. log.handover A log that is another, or shorter, at a head at which its key changed hands. checkpoint.form A checkpoint that is not of its form, or has further lines. checkpoint.key A checkpoint by no log key, or by one that was not in force at its size. checkpoint.signature A checkpoint whose signature does not fit. checkpoint.tree A checkpoint of another size or root than the log has there, or of another log. cosignature.form A cosignature that is not of its form. log.remembered A log that does not go on from a checkpoint that the verifier remembers. erratum.row An erratum of a leaf that is no row of a round taken before. withdrawn.basis A withdrawal of what an erratum that counts rests on, or, in the same week, a refresh. erratum.basis An erratum to a verdict that rests on a look of another week than its row, or by an older battery, or on a paid walk of another door or week, or one that failed, or gives another verdict than ready. An instrument_error of a row without a verdict or with the same one, whose checks are not those that were told falsely, or that rests on a look which is not the row's own, or of a row whose own was withdrawn before it. words.missing Words that are not there although none withdrew them. words.withdrawn Words that are there although an observation withdrew them. words.form A file of words that is not of its form. words.digest Words that are not of their digest. words.salt Two words under one salt. file.unknown A file that nothing asks for. In this order: the names of all files; the ring; the manifest, where any part of one is there, and of every file what it says; the headers of all rounds up to the highest number that has a folder; the observations up to the first gap; then how all of them are dated; proofs of time. Then the log as it grew: before a round the observations that stand there, then the round's parts, each with all its rows and then its pack, then counts, lot and host index. Then the files of the log, its handovers, its checkpoints; control walks, what was withdrawn, errata, and what refreshes were judged by; words; and what nothing asked for. A signature is looked at when the form holds, and first whether its key may sign. A signature stands behind the form of its own object alone: of a row, form, url and members come first, then key and signature, then round, time, vantages and order. Whoever has no battery sees of judgement.form only the first line and the forms of exchanges, and nothing of judgement.verdict. It says unproven, neither good nor forged, where the record ends before what was asked for: a week, a checkpoint of more leaves that the verifier remembers, or a handover of the log that the verifier's keys know and the record does not."
        },
        {
          "at": "keys-counts-and-proofs",
          "title": "Keys, counts and proofs",
          "text": "Where a verifier holds keys of its own, the ring is those or goes on from them by handovers, and every handover that both know is the same to the byte; a walker's key stays with its dates, and retired_on may be added. roster.listed counts the hosts that the week's sources named, also those that a cap left without a row, and is no count of rows that say listed, which are of hosts that a discovery source listed. A proof (c2sp.org/tlog-proof): the line c2sp.org/tlog-proof@v1, index <n>, the hashes in base64, one a line, an empty line, and the checkpoint. Proofs of a row are under the checkpoint of the size with which its round ended, first_leaf + rows + 2."
        },
        {
          "at": "tiles",
          "title": "Tiles",
          "text": "Narrower tiles and bundles of the log, of width 1 to 255, may stand beside the one that is due: each is its beginning. They are of older heads, and may be taken away once one that is full stands there. None stands beside one of a host index, which is written once."
        },
        {
          "at": "sizes",
          "title": "Sizes",
          "text": "A part is at most 4,096 × 16,385 bytes long, a header and the ring 4 MiB, an observation 16,384 bytes, a checkpoint 256 KiB, a proof of time 64 KiB, every other file, among them a pack, the manifest and its parts, first.txt, tiles and bundles, 64 MiB."
        },
        {
          "at": "times",
          "title": "Times",
          "text": "Of the rows without late, the first observed_at is no more than a minute before the closing, and no more than two hours before the block. A walk begins in the week of its round, a minute before it or in the day after it, and no more than a minute after taken_at. An observation is dated no more than a day before the taken_at of the round that it follows in the log, and no more than a day after that of the round that follows it; between two rounds their order is free. What is dated is not dated more than a day after it was there: a round and an anchor by every block at hand that holds their proof; a round and an observation by the time of a cosignature, whose key the verifier knows, under a head that has them. A verifier with a clock holds everything to that as well, but for a record whose identity is the specimen's, in which every date is made up."
        },
        {
          "at": "errata-and-what-is-withdrawn",
          "title": "Errata, and what is withdrawn",
          "text": "The row stays as it is signed, and of several errata of one row the last counts. One with a verdict rests on what its evidence_digest is of: a judgement, which stands in evidence/observations/ as that of a refresh does, is of the row's url and by its battery or a later one, each exchange of which began in the row's week as a walk does and not after at, and which gives that verdict; or the exact bytes of an observation of kind paid_walk before it, of the row's host and url, dated in the row's week as a walk is, whose claim, if it has one, has a status from 200 to 299, and which is not by the seller, nor by the store without a claim: then the verdict is ready; an unpaid_walk gives none. What is derived takes of a corrected row the verdict and that digest, fault door for unreachable and else none, and nothing of level, failed checks, other batteries and vantages; where the verdict is not_probed, neither time nor digest, and the reason erratum. What the door asked for stays as it was seen. The first observation that withdraws a digest counts. What a refresh was judged by is withdrawn in a later week than the refresh is dated in; what an erratum rests on, only where a later erratum of the same row stands. What rows and control walks were judged by, and words, may be withdrawn at any time."
        },
        {
          "at": "vectors",
          "title": "Vectors",
          "text": "/spec/vectors/index.json lists records that hold and records that do not, {format, good, bad}, a good one as {name, why}, a bad one as {name, rule, why, base, battery?}: the rule is the only one that it breaks. Each stands in a file, /spec/vectors/good/<name>.json or …/bad/<name>.json: {format, name, why, rule?, base?, files, gone?, links?, keys?, seen?, battery?}, format store-corpus-vector/v1. files holds each file in base64 by its path. A bad one holds what differs from the good one that base names: further or other files, in gone those that are not there, in links symbolic links. keys is a ring that the verifier held before, seen a checkpoint that it saw before, both in base64. With battery the record is refused only by who has it. /spec/vectors/forms.json is {format, forms}, format store-form-vectors/v1: for each form of forms.txt {form, good, bad}, values that are of it and values that are not."
        },
        {
          "at": "what-it-does-not-prove",
          "title": "What it does not prove",
          "text": "That the checkpoint is the only one the log ever signed: compare heads with others, or ask for cosignatures. That what is signed is true, or that the instrument, which looks from one place, looked well. That a host which no source named was not there."
        }
      ]
    },
    {
      "path": "/spec/store-evidence/v1",
      "title": "store-evidence/v1",
      "summary": "What the rows of the signed record were judged by, byte for byte: judgements, exchanges, opt-outs, and the packs that hold them.",
      "parts": [
        {
          "text": "Evidence is what the rows, refreshes and errata of a record were judged by. It stands in the folder evidence of the record, whose other folders, and the conventions that hold here too (canonical JSON, digest, hex, time, sorted), are in store-corpus/v1. What a verifier refuses of it is among the rules. A verifier can be made from these three pages and nothing else."
        },
        {
          "at": "judgements",
          "title": "Judgements",
          "text": "A judgement is what a verdict was reached from, at most 262,144 bytes: a line {\"format\":\"store-judgement/v1\",\"battery\":\"v2\",\"url\":\"…\",\"declared\":{\"method\":\"\",\"by\":\"\"},\"exchanges\":1,\"salt\":\"<hex>\"}, then one line for each exchange, each with a newline. salt is 32 random bytes, not all zero: without it nobody can try guesses against the digest of a judgement that was withdrawn. declared is POST with where the door was declared to take it, of at most 64 bytes, or empty. The first exchange is the GET; the battery asks for the others."
        },
        {
          "at": "exchanges",
          "title": "Exchanges",
          "text": "An exchange is {format, method, url, started_at, duration_ms, status, proto, headers, other_headers, body, challenges, stand_ins?, error, head_bytes?, head_fault?}, compact JSON in this order, format store-probe-evidence/v1: headers {name, value, cut?}, body {sha256, bytes, truncated}, challenges {from, bytes, encoding?, problem?, lenient?, marked?, params?, value?}, error {stage, text}. head_bytes is how long the head was, where that is longer than some clients read, and head_fault how it was written, where fetch in Node refuses that: length-twice, length-and-encoding, bare-line-feed, unasked-100 or http-version. marked is true where a byte order mark stood before the terms. lenient is true where a reader that takes a repeated name, or bytes that are no UTF-8, finds a value. value is the terms as the door sent them, compact, but for addresses; its numbers keep the door's spelling. Any client of x402 reads it. Stand-ins. Whatever an answer names in a text payTo, pay_to or recipient is an address. In its place stands a stand-in of the same form: there, and wherever else the address is found in what is published (in any case of its letters, in longer hexadecimal, in a URL, in the base64 of a signed offer). Equal addresses of an exchange have one stand-in and others have others; between exchanges a stand-in says nothing, since it is made of fixed text and a number: address stand-in, the first of an exchange 0x and 40 digits of hex 0x73756273746974757465abcdef00000000000001, its letters in the case of the address: lower, upper, checksum, or no checksum base58 of 32 bytes ASubstituteoooooooooooooooooooooooooooooooo1, without A for one of fewer than 44 characters a name, such as shop.eth stand-in-1.invalid any other text (stand-in 1) Nobody has the key of one: its bytes were not derived from a key, but spell a word. The zero address and an empty text stay, as nobody's, and so does the host of url. A token of the table of stock clients stays where it is no payTo. An address of fewer than 20 characters is replaced in its own member alone. In a payTo that is no text, texts that have the first two forms are addresses. stand_ins lists each stand-in {address, network, digest}, an address of hex in lower case, once beside each network (CAIP-2, or other) on which the door named it, sorted by both; what is not listed is no stand-in. What a door itself writes in the form of a stand-in is replaced by one that is not listed, so that it cannot be taken for an address. digest is that of an offer's pay_to: SHA-256 of store-pay-to/v1|<network>|<address>, an address of hex in lower case. It is not salted, so that an address can be looked up: whoever tries addresses finds the one that a digest is of. body is of the body as it came, addresses and all. The signature of an offer stays as the door sent it, over the address itself: it does not verify over the stand-in, and does for whoever knows the address and puts it back. Accounts on Solana, the last, where a node was asked for those of an entry: method POST, url rpc: and the network, no headers, the digest of the raw answer, and one challenge from accounts with a problem or the value {\"mint\":\"…\",\"fee_payer\":\"…\",\"token_account\":\"…\"}. Each is fine, absent, something else, frozen or another owner's. An entry on Solana without a value is not judged."
        },
        {
          "at": "verdicts",
          "title": "Verdicts",
          "text": "Whoever has the battery reaches from a judgement the row's url and its members from verdict to evidence_digest (advisories as in force on the day); then vantages that disagree change verdict and fault. A vantage's is of that url and gives its verdict. What a walker signed when it handed over its walks is not published: the store's signature of the row says whose a vantage is, and that the walker made it cannot be proved from the record."
        },
        {
          "at": "opt-outs",
          "title": "Opt-outs",
          "text": "An opt-out stands in the place of a judgement for a host whose own file asks not to be walked (/.well-known/x402 with \"census\": \"no\", read before each week's walk): a line {\"format\":\"store-opt-out/v1\",\"url\":\"https://<host>/.well-known/x402\",\"census\":\"no\",\"salt\":\"<hex>\"} and one line with the exchange, each with a newline. The exchange is a GET of that address, answered 200, with a body that was read whole; the body stands there by its SHA-256 alone, because it may name addresses. The row is not_probed, its reason opted_out and its fault none."
        },
        {
          "at": "packs",
          "title": "Packs",
          "text": "A pack is gzip members, each of one judgement, in the order of the index: {\"format\":\"store-evidence-index/v1\",\"entries\":[{\"host\":\"…\",\"sha256\":\"…\",\"offset\":n,\"bytes\":n}…]} and a newline, canonical, 1 to 20,480 entries, sorted by host and then digest, without a gap between them, at most 67,108,864 bytes together. A member begins with the bytes 1f8b08000000000002ff. Pack and index stand together or not at all. In the pack of a part each entry is of a row of it, with its evidence_digest or a vantage's; in control each is of a digest that the round's control.evidence names, all of one door and by the round's battery. A control walk failed if its verdict is not ready. The file of an observation is one such member."
        },
        {
          "at": "withdrawn",
          "title": "Withdrawn",
          "text": "A pack that is there holds every judgement that rows of its part name, except what an observation withdrew; that it does not hold. The same is true of control walks, and of words where there is a folder of words. A refresh's judgement is there, or withdrawn, where there is a folder of evidence. Packs may be missing as a whole, as in git; a manifest that covers them says otherwise."
        }
      ]
    },
    {
      "path": "/search",
      "title": "/search",
      "summary": "The search over goods, pages and hosts."
    },
    {
      "path": "/criteria/laboratory",
      "title": "/criteria/laboratory",
      "summary": "What the stock client did at every kind of door, and what we said of it."
    },
    {
      "path": "/deprecation",
      "title": "/deprecation",
      "summary": "Which versions are served, since when, and until when."
    },
    {
      "path": "/corpus/query",
      "title": "/corpus/query",
      "summary": "Ask the record: questions in SQL, answered in the browser."
    },
    {
      "path": "/docs/goods",
      "title": "Goods of your own",
      "summary": "Every key of a good's file, every kind of goods and every input, from the table that the store reads them by.",
      "parts": [
        {
          "text": "A good is one file, content/shelf/<id>.md: keys between two lines of +++, then the prose of its page in Markdown. The file's name is the good's id, for ever. store new good ID writes one with what it needs; store watch shows it at every change, and says of each fault the file and the line. +++ name = \"Green tea\" price = \"0.10\" description = \"How to make green tea, in one page.\" file = \"green-tea.pdf\" +++ Water that has stopped boiling, and two minutes. Whatever is not said has the default below. What is sold lies in the stock, which is never public: files in files, texts in texts, pools as NAME.toml."
        },
        {
          "at": "files",
          "title": "Files",
          "text": "file gives every buyer the same file; folder gives each file of a folder once, until there is none left, such as licence keys. The answer to the purchase has file_url: the file is fetched there with the purchase's token in an Authorization header, in parts where a client likes, as often and as long as its buyer likes. It goes out as an attachment that no browser runs. A build copies the files into the folder of kept sources under their digests and takes none out again, so a file that you replace is another file, and buyers of the first keep the first. Keep that folder with your backups: a backup of the ledger holds no files."
        },
        {
          "at": "texts",
          "title": "Texts",
          "text": "text gives Markdown. Words in braces are what the order says for an input of that name, as words and never as markup."
        },
        {
          "at": "http-services",
          "title": "HTTP services",
          "text": "A good with [upstream] sells the answer of an HTTP address: any service of yours, without a line of code. The keeper allows the address in store.toml: [[upstream]] url = \"http://127.0.0.1:9000/\" private = true headers = \"var/keys/service.headers\" The store sends the order's inputs, as a JSON object or a query, with an Idempotency-Key that is the same for all requests of one order. Answer requests with the same key alike: a process that is stopped asks again, and two processes may ask at once. The answer counts where its status is 200, it is of the type that is sold, and it is no larger than 4 MiB and no slower than 30 seconds. Redirects are not followed, and nothing of an error is shown to anybody. With repeatable = true the address is asked before the payment is settled: a failure costs your buyer nothing and you a request. How many requests may stay unpaid in 24 hours is bounded by unpaid_a_day, and wallets whose payments keep failing are turned away for a day. Otherwise it is asked after the payment, again and again for an hour; what it does not give by then is owed back, and the good's page says so."
        },
        {
          "at": "keys",
          "title": "Keys",
          "text": "The head of the file, between the lines of +++. Key Is Left out Means name text, at most 60 characters must be there What people read. No two goods share it. Such as \"Green tea\". price price, at most 10000 must be there What it costs in USDC, with at most six decimals. Such as \"0.10\". description text, at most 300 characters must be there One sentence or two, for lists and for machines that choose. Such as \"A cup of tea, described.\". subtitle text, at most 100 characters nothing A line below the name. kind text nothing How the good is made: one of the kinds below. A file with file or folder is a file, one with text a text, one with \\[upstream] an upstream, one with window_hours a human, one with a pool and nothing else a greeting. Such as \"file\". order number nothing Its place on the shelf, the lowest first; goods without one follow, by name. No two goods share it. Such as 10. pay_what_it_deserves true or false false Offers twice and five times the price as well; what is above the price is the tip. file text, at most 200 characters nothing The file that every buyer gets, below the folder files of the stock; at most 64 MiB. For file. Such as \"tea.pdf\". folder text, at most 200 characters nothing In place of file: a folder below files, of which each file is sold once. For file. Such as \"licences\". media_type text, at most 100 characters nothing The media type of what is delivered. Left out, it follows from the ending of a file's name, and of an answer it is application/json. For file, upstream. Such as \"application/pdf\". text text, at most 200 characters nothing The Markdown that is sold, below the folder texts of the stock; at most 64 KiB. {detail} in it is what the order says for the input detail; the words base_url, base_host, did, keeper, title and good, the cheapest, in braces are facts of the site. For text. Such as \"letter.md\". pool text nothing The pool that it draws from: NAME.toml in the stock, of \\[\\[entry]] tables. For greeting, blessing, daily, confession, claim, name, tuesday, rock, luckies, grudge, portrait, drawer, secret, word, patronage. Such as \"tea\". stock true or false false Each entry of the pool is given once, so that the good can sell out. For kinds whose entries are given once for ever. For greeting, blessing, daily, confession, claim, name, tuesday, rock, luckies, grudge, portrait, drawer, secret, word, patronage. fulfilment text instant; human: human; days, hours: term How it reaches its buyer: instant, human or term. Such as \"instant\". window_hours number, at most 8760 nothing Within how many hours the keeper delivers; what is late is owed. For human. Such as 168. weekly_inventory number, at most 10000 nothing How many orders are taken in an ISO week. For human. Such as 5. cadence text one_off; days, hours: term one_off, or term for what goes on for days. It follows from fulfilment. Such as \"one_off\". artifact text certificate; anchor: context_anchor; bitcoin: bitcoin_anchor; days, hours, spot, audit, buyer, card, refresh, launch, repair: service_audit; onpage: onpage_audit; provenance: provenance_check What is signed for its buyer: certificate, context_anchor, bitcoin_anchor, service_audit, onpage_audit, provenance_check, or none for goods of the kinds file, text and upstream that come with a signed receipt alone. Such as \"certificate\". what_it_reads text, at most 240 characters Nothing outside the store.; phantom: The address that you name, later.; upstream: A service behind the store, which is asked with your inputs. What outside the store the good reads. signs text, at most 240 characters What you were given, the date, your name if you gave one, and the facts of the payment.; file: A salted digest of the file, the date, your name if you gave one, and the facts of the payment.; text: A salted digest of the text, the date, your name if you gave one, and the facts of the payment.; upstream: A salted digest of the answer, the date, your name if you gave one, and the facts of the payment. Which facts the signature covers. does_not_prove text, at most 240 characters Anything about the world. It proves what was given to whoever paid, and when.; file: That the file is fit for what you want it for. It proves which bytes you were sold, and when.; text: That what the text says is so. It proves which words you were sold, and when.; upstream: That the answer is right. It proves which bytes the service gave, and when. What nobody should conclude from the certificate. constraints list of texts, at most 240 characters nothing Further facts that a buyer should know, each a sentence. Such as [\"Tea is drunk at your own risk.\"]."
        },
        {
          "at": "keys-of-certificate",
          "title": "Keys of certificate",
          "text": "A table [certificate]: texts that go onto every certificate of the good. Key Is Left out Means note text, at most 240 characters nothing Stands for the goods themselves where those are not put on the public certificate. Left out, the kind writes it. attests text, at most 240 characters nothing What the certificate attests. Left out, the kind writes it. purpose text, at most 240 characters nothing What it is for."
        },
        {
          "at": "keys-of-input",
          "title": "Keys of input",
          "text": "A table [[input]] for each thing that an order says. Key Is Left out Means name text must be there Which of the inputs below it is. Such as \"detail\". help text, at most 160 characters must be there One sentence for the buyer. Such as \"What the letter is about.\". required true or false false No order is taken without it. max number nothing The most characters, at most those below; left out, it is these. Such as 200. pattern text nothing An anchored RE2 expression that the value matches. Such as \"^[a-z]+$\". example text, at most 80 characters nothing A value that an order may have. An input that is required has one. Such as \"Kyoto\"."
        },
        {
          "at": "keys-of-upstream",
          "title": "Keys of upstream",
          "text": "A table [upstream]: the HTTP address that makes the good. Key Is Left out Means url text, at most 1024 characters must be there The address that is asked. The keeper allows it in store.toml, by an \\[\\[upstream]] table. For upstream. Such as \"http://127.0.0.1:9000/forecast\". method text POST POST sends the order's inputs as a JSON object, GET as a query. For upstream. Such as \"POST\". repeatable true or false false true: asking costs nothing that matters, so the address is asked before the payment is settled, and an answer that cannot be had costs nobody anything. false: it is asked once the payment has settled, and an answer that cannot be had within an hour is owed back. Either way it is asked at least once, and always with the same Idempotency-Key. For upstream. answer text json json puts the answer into the deliverable, file has it fetched like a file; at most 4 MiB. For upstream. Such as \"json\". seconds number, at most 30 30 How long one request may take. For upstream. Such as 10. unpaid_a_day number, at most 100000 200 How many requests within 24 hours may stay unpaid, of a repeatable one. Beyond it only wallets go on that have bought such a good here before. For upstream. Such as 200."
        },
        {
          "at": "kinds",
          "title": "Kinds",
          "text": "Kind Gives Its pool greeting any entry of the pool at least 1 blessing any entry of the pool but the one its payer was given last at least 2 daily one entry of the pool a payer and UTC day at least 1 confession the input is kept private and its digest signed; the entry is the answer at least 1 claim the input, dated and public; the entry is the keeper's line beside it at least 1 name a name with its reason at least 2, each with name tuesday an entry once for ever, numbered in order of sale at least 40, each with date rock an entry with a drawn rock at least 2, each with name, each with temperament luckies an animal with a drawing at least 2, each with animal, each with strength grudge the input is held; the entry says how at least 2 portrait a drawing of the paying wallet; the entry is its caption at least 2 drawer an entry once for ever at least 40, each with name secret an entry once for ever, on no certificate at least 40 word the input or an entry, once for ever, on the public register at least 40, each with word patronage thanks, and the nicer badge at least 1 anchor a text that is signed as it was written, to be read back none bitcoin a digest that is timestamped by Bitcoin none pass thirty days of a pass none human what the keeper does by hand, within a window none phantom a look at an address some hours later none days a reading a day for seven days none hours a reading an hour for seven days none spot one run of the battery at a door, signed none audit four readings of a service in one report none onpage a page as it is served none buyer what a stock client would sign at a door none card a signature directory, or a card of one none refresh a spot check that the record is told of none launch a purchase at a door, by the store's own wallet none repair an agent card as it should be none provenance what the record holds about one receiving address none file a file of the stock, the same for everybody, or of a folder one a buyer none text Markdown, with the order's inputs in it none upstream the answer of an HTTP address to the order's inputs none"
        },
        {
          "at": "inputs",
          "title": "Inputs",
          "text": "An order may say these. agent_name, source and, for what is not delivered at once, callback_url every good takes by itself. Input Is At most Says detail string 600 What the good is about, where it takes a text; each good says how it is used and whether it becomes public. url string 2048 The public https address that the good looks at. summary string 4000 The text of a context anchor, signed exactly as written. digest string 64 A SHA-256 in hex that you computed. label string 120 A label that is stored as it is and never checked. pass_id string 64 The pass to extend. host string 253 The host that the good looks at. address string 64 The receiving address that the good is about. max_usd number 20 Your client's ceiling for one payment, in dollars. no_spend_controls boolean 5 true if your client's spend controls are off. agent_name string 80 The name to put on the certificate and the badge. callback_url string 2048 Where word is sent once the order is completed: a public https address. source string 40 Where you heard of the store; written in the ledger and nowhere else."
        }
      ]
    },
    {
      "path": "/docs/api",
      "title": "The API",
      "summary": "Every address of this store that programs call, by group: what it takes, what it gives, and a request to copy.",
      "parts": [
        {
          "text": "A request without a key or an account is the rule; a paid address says its price with 402 and is bought at as the documentation shows. Inputs that an address does not know are refused, every limit is told beside its input, and errors are application/problem+json with what to do next (all codes). The same for programs is /openapi.json (OpenAPI 3.1), /openapi-tools.json (the free tools for function calling) and /mcp; in one Markdown file it is /api.md."
        },
        {
          "at": "agents",
          "title": "Agents",
          "text": "Files for agents and for readers of the API. GET /guide GET /discovery/resources 30 published files"
        },
        {
          "at": "agents-2",
          "title": "Agents, 2",
          "text": "Files for agents and for readers of the API. POST /mcp POST /mcp/verifier POST /mcp/docs POST /mcp.md POST /a2a"
        },
        {
          "at": "artifacts",
          "title": "Artifacts",
          "text": "GET /api/anchor/{anchor_id} GET /api/patronage/{pass_id} GET /api/service-audit/{audit_id} GET /api/onpage-audit/{audit_id} GET /api/order/{order_id} GET /api/order/{order_id}/file GET /api/phantom/{check_id} GET /api/bitcoin-anchor/{anchor_id} GET /api/bitcoin-anchor/{anchor_id}/proof.ots POST /api/order/{order_id}/replay-callback"
        },
        {
          "at": "bounties",
          "title": "Bounties",
          "text": "GET /api/bounties GET /bounties POST /api/bounty-claim POST /api/purchase-report"
        },
        {
          "at": "free-shelf",
          "title": "Free shelf",
          "text": "GET /api/guestbook POST /api/guestbook POST /api/bell POST /api/stamp GET /stamps/{stamp_id}.svg POST /api/letter GET /api/letter/{letter_id} POST /api/tip POST /api/request"
        },
        {
          "at": "instruments",
          "title": "Instruments",
          "text": "POST /api/preflight/v1 POST /api/preflight/v2 POST /api/look/v1 POST /api/before-you-pay/v1 POST /api/a2a/check GET /api/catalog/v1 7 published files"
        },
        {
          "at": "instruments-2",
          "title": "Instruments, 2",
          "text": "GET /api/practice/{scenario} GET /badge/check.svg GET /badge/host.svg GET /corpus/host/{host}/feed.xml POST /try POST /api/bot-auth/check POST /api/onpage/v1 GET /api/onpage/v1 GET /api/recordings"
        },
        {
          "at": "instruments-3",
          "title": "Instruments, 3",
          "text": "POST /api/recordings POST /api/conformance/v1 GET /api/conformance/v1/fixtures GET /api/provenance/self POST /api/provenance/self POST /api/declare-door GET /api/declare-door GET /api/standing-note POST /api/standing-note GET /corpus/discovery/resources"
        },
        {
          "at": "instruments-4",
          "title": "Instruments, 4",
          "text": "GET /corpus/discovery/search"
        },
        {
          "at": "observatory",
          "title": "Observatory",
          "text": "GET /api/why/{host}"
        },
        {
          "at": "purchase",
          "title": "Purchase",
          "text": "Buying, and getting back what was bought. GET /api/buy/{item_id} POST /api/buy/{item_id}"
        },
        {
          "at": "purchase-2",
          "title": "Purchase, 2",
          "text": "Buying, and getting back what was bought. GET /api/hold/{item_id} POST /api/hold/{item_id} GET /almanac/{slug}"
        },
        {
          "at": "purchase-3",
          "title": "Purchase, 3",
          "text": "Buying, and getting back what was bought. GET /gazette/issue-{issue_number} GET /zodiac/archive/{sign}/week-{week} GET /tips/{slug} GET /porch/line"
        },
        {
          "at": "purchase-4",
          "title": "Purchase, 4",
          "text": "Buying, and getting back what was bought. GET /api/commission/{request_id} GET /api/purchase-status/{purchase_id} POST /api/claims/challenge POST /api/claims GET /api/purchase-status/{purchase_id}/file GET /api/offers"
        },
        {
          "at": "record",
          "title": "Record",
          "text": "26 published files"
        },
        {
          "at": "record-2",
          "title": "Record, 2",
          "text": "GET /corpus/diff.json 24 published files"
        },
        {
          "at": "record-3",
          "title": "Record, 3",
          "text": "2 published files"
        },
        {
          "at": "signing",
          "title": "Signing",
          "text": "What is needed to verify what the store signed. GET /.well-known/http-message-signatures-directory 21 published files"
        },
        {
          "at": "storefront",
          "title": "Storefront",
          "text": "What is sold and what is free to read. 28 published files"
        },
        {
          "at": "storefront-2",
          "title": "Storefront, 2",
          "text": "What is sold and what is free to read. GET /api/window/v1 GET /porch GET /zodiac/{address} 2 published files"
        },
        {
          "at": "trade",
          "title": "Trade",
          "text": "GET /api/trade/contract GET /api/trade/catalog POST /api/trade/{account}/check POST /api/trade/{account}/statement POST /api/trade/{account}/{item_id}"
        },
        {
          "at": "verify",
          "title": "Verify",
          "text": "Verification of what the store signed, and badges. GET /api/verify/{id} GET /api/verify GET /badges/{patron_number}.svg"
        }
      ]
    },
    {
      "path": "/corpus",
      "title": "/corpus",
      "summary": "The record: a signed weekly census of doors, with its chain."
    },
    {
      "path": "/corpus/trajectory",
      "title": "/corpus/trajectory",
      "summary": "One point for each round: counts with their denominators."
    },
    {
      "path": "/corpus/errors",
      "title": "/corpus/errors",
      "summary": "How often this record was wrong, by week, check and cause."
    },
    {
      "path": "/corpus/purchases",
      "title": "/corpus/purchases",
      "summary": "What came of purchases at doors, by week: tried, delivered, charged, charged twice."
    },
    {
      "path": "/corpus/brief",
      "title": "/corpus/brief",
      "summary": "The newest week in brief."
    },
    {
      "path": "/fresh-set",
      "title": "/fresh-set",
      "summary": "This week's doors with a conformant challenge, their rails and their cheapest ask."
    },
    {
      "path": "/registry",
      "title": "/registry",
      "summary": "What ready doors asked for, week by week."
    },
    {
      "path": "/inflows",
      "title": "/inflows",
      "summary": "USDC seen arriving at advertised addresses, by network and week."
    },
    {
      "path": "/scorers",
      "title": "/scorers",
      "summary": "How to pull, verify, cite, reproduce and observe again."
    }
  ],
  "left_out": 0
};
