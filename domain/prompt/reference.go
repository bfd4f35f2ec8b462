package prompt

import (
	"strings"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Reference is how a chat template, or a prompt whose includes float, names a prompt version. What it stands for is
// decided by the rights of the holder's owner: while they may read the version that Ref names, it is that one;
// otherwise the last one that Ref named until then.
type Reference struct {
	Holder   string // the id of a chat template or of a prompt template
	Template ID     // the prompt that is referred to
	Ref      string // as ParseRef reads it
}

// InPrompt reports whether the holder is a prompt template.
func (r Reference) InPrompt() bool { return strings.HasPrefix(r.Holder, Prefix+"_") }

// Lost returns the events for the owners of the holder and of the prompt: owner, who owns the holder, may no longer
// read the prompt, so that the reference stays at its version.
func (r Reference) Lost(by identity.Actor, owner identity.UserID) []event.Event {
	var log event.Log
	kind := "chat_template.degraded"
	if r.InPrompt() {
		kind = "prompt_template.degraded"
	}
	log.Record(by, kind, r.Holder, map[string]any{"owner_id": owner, "prompt_template_id": r.Template})
	log.Record(by, "prompt_template.reader_lost", string(r.Template),
		map[string]any{"owner_id": owner, "used_by": r.Holder})
	return log.Recorded()
}
