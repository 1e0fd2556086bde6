package probe

import "agentstore/corpus/exchange"

// stageFault maps where an exchange stopped to a side. A name that does not resolve, a connection that does not open and
// silence may lie anywhere on the way; a bad certificate or a broken response head is the door's own word.
func stageFault(stage string) Fault {
	switch stage {
	case exchange.StageRefused:
		return FaultInstrument
	case exchange.StageTLS, exchange.StageHeaders, exchange.StageBody:
		return FaultDoor
	}
	return FaultPath
}

// ControlFailed returns the report as it stands when the control door of the same batch could not be read either: then
// nothing is called unreachable, because the instrument itself is in doubt. Other verdicts rest on an answer and stay.
func (r Report) ControlFailed() Report {
	if r.Verdict == Unreachable {
		r.Verdict, r.Fault = NotProbed, FaultInstrument
		r.SingleProbeNote = "The control door could not be read at the same time, so this look says nothing about the door."
	}
	return r
}
