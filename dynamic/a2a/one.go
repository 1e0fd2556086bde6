package a2a

import (
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"strings"

	"store.example/agentstore/content/api"
)

// versionField is the field by which a request says which version it speaks (A2A 1.0.1, section
// 3.6). maxVersion bounds it.
const (
	versionField = "A2A-Version"
	maxVersion   = 20
)

// version reads that field: "" where there is none. Only its first two numbers count.
func version(fields []string) (spoken string, known bool) {
	switch v := strings.TrimSpace(strings.Join(fields, ",")); {
	case v == "":
		return "", true
	case v == "0.3" || strings.HasPrefix(v, "0.3."):
		return api.A2AVersion, true
	case v == api.A2AVersionOne || strings.HasPrefix(v, api.A2AVersionOne+"."):
		return api.A2AVersionOne, true
	}
	return "", false
}

// methodsOne is every method of 1.0 that is answered.
var methodsOne = map[string]func(*Door, *http.Request, jsontext.Value) (any, *fault){
	"SendMessage":          (*Door).sendOne,
	"GetTask":              (*Door).getOne,
	"CancelTask":           (*Door).cancel,
	"ListTasks":            never(codeUnsupported, "tasks are not listed: who has an order's id reads it with GetTask"),
	"SendStreamingMessage": never(codeUnsupported, "nothing is streamed: the card says so"),
	"SubscribeToTask":      never(codeUnsupported, "nothing is streamed: the card says so"),
	"CreateTaskPushNotificationConfig": never(codeNoPush,
		"nothing is pushed: buy with callback_url over HTTP"),
	"GetTaskPushNotificationConfig":    never(codeNoPush, "nothing is pushed"),
	"ListTaskPushNotificationConfigs":  never(codeNoPush, "nothing is pushed"),
	"DeleteTaskPushNotificationConfig": never(codeNoPush, "nothing is pushed"),
	"GetExtendedAgentCard":             never(codeNoExtendedCard, "there is one card, for everybody"),
}

// messageOne, partOne and taskOne are as the protobuf definition of 1.0.1 has them in JSON.
type messageOne struct {
	MessageID string         `json:"messageId"`
	ContextID string         `json:"contextId,omitempty"`
	Role      string         `json:"role"`
	Parts     []partOne      `json:"parts"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

type partOne struct {
	Text      *string        `json:"text,omitempty"`
	Data      jsontext.Value `json:"data,omitempty"`
	MediaType string         `json:"mediaType,omitempty"`
}

type taskOne struct {
	ID        string        `json:"id"`
	ContextID string        `json:"contextId"`
	Status    taskStatus    `json:"status"`
	Artifacts []artifactOne `json:"artifacts"`
}

type artifactOne struct {
	ArtifactID string    `json:"artifactId"`
	Name       string    `json:"name"`
	Parts      []partOne `json:"parts"`
}

// sentOne is the answer to SendMessage: one of the two.
type sentOne struct {
	Task    *taskOne    `json:"task,omitempty"`
	Message *messageOne `json:"message,omitempty"`
}

// sendOne answers SendMessage.
func (d *Door) sendOne(r *http.Request, raw jsontext.Value) (any, *fault) {
	var p struct {
		Message messageOne `json:"message"`
	}
	if err := json.Unmarshal(raw, &p); err != nil || p.Message.Role != "ROLE_USER" {
		return nil, refuse(codeInvalidParams,
			"params.message must be a message of ROLE_USER with a messageId and 1 to %d parts", maxParts)
	}
	m := message{MessageID: p.Message.MessageID, ContextID: p.Message.ContextID, Role: "user"}
	if m.ContextID == "" {
		m.ContextID = rand.Text() // which an answer of 1.0 must have
	}
	for _, from := range p.Message.Parts {
		switch {
		case from.Data != nil:
			m.Parts = append(m.Parts, part{Kind: "data", Data: from.Data})
		case from.Text != nil:
			m.Parts = append(m.Parts, part{Kind: "text", Text: *from.Text})
		default:
			m.Parts = append(m.Parts, part{Kind: "file"}) // which no tool takes
		}
	}
	out, bad := d.sent(r, &m)
	switch out := out.(type) {
	case *message:
		return sentOne{Message: &messageOne{MessageID: out.MessageID, ContextID: out.ContextID, Role: "ROLE_AGENT",
			Parts: inOne(out.Parts), Metadata: out.Metadata}}, bad
	case *task:
		return sentOne{Task: out.one()}, bad
	}
	return nil, bad
}

// getOne answers GetTask.
func (d *Door) getOne(r *http.Request, raw jsontext.Value) (any, *fault) {
	out, bad := d.get(r, raw)
	if t, ok := out.(*task); ok {
		return t.one(), bad
	}
	return nil, bad
}

// one is the task in the form of 1.0.
func (t *task) one() *taskOne {
	out := &taskOne{ID: t.ID, ContextID: t.ContextID,
		Status: taskStatus{"TASK_STATE_" + strings.ToUpper(t.Status.State)}}
	for _, a := range t.Artifacts {
		out.Artifacts = append(out.Artifacts, artifactOne{a.ArtifactID, a.Name, inOne(a.Parts)})
	}
	return out
}

func inOne(parts []part) []partOne {
	out := make([]partOne, len(parts))
	for i, p := range parts {
		if out[i] = (partOne{Data: p.Data, MediaType: api.JSON}); p.Kind == "text" {
			out[i] = partOne{Text: &p.Text, MediaType: "text/plain"}
		}
	}
	return out
}

// reasons are the words that 1.0 has for its codes.
var reasons = map[int]string{codeNoTask: "TASK_NOT_FOUND", codeNotCancelable: "TASK_NOT_CANCELABLE",
	codeNoPush: "PUSH_NOTIFICATION_NOT_SUPPORTED", codeUnsupported: "UNSUPPORTED_OPERATION",
	codeNoExtendedCard: "EXTENDED_AGENT_CARD_NOT_CONFIGURED", codeNoVersion: "VERSION_NOT_SUPPORTED"}

// detail is one entry of the data of an error of 1.0: what kind of object it is, and its members.
type detail struct {
	Type   string         `json:"@type"`
	Reason string         `json:"reason,omitempty"`
	Domain string         `json:"domain,omitempty"`
	Value  jsontext.Value `json:"value,omitempty"`
}

// typed is the fault as 1.0 wants it: its data is a list of objects that say what they are (A2A
// 1.0.1, section 9.5).
func (f *fault) typed() *fault {
	if f == nil {
		return nil
	}
	var details []detail
	if reason := reasons[f.Code]; reason != "" {
		details = append(details, detail{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: reason,
			Domain: "a2a-protocol.org"})
	}
	if f.Data != nil {
		details = append(details, detail{Type: "type.googleapis.com/google.protobuf.Struct", Value: f.Data})
	}
	out := *f
	if out.Data = nil; details != nil {
		out.Data, _ = json.Marshal(details) // texts, and JSON that was read before
	}
	return &out
}
