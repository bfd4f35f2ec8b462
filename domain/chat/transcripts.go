package chat

import (
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
)

// ErrTranscriptWebhook is for transcripts to a webhook that does not exist.
var ErrTranscriptWebhook = &fault.Error{Kind: fault.Invalid, Code: "transcript_webhook_unavailable",
	Detail: "The workspace has no such webhook to send transcripts to."}

// mayForward returns an error if by may not let a webhook get the turns of t. Beginning that requires who may manage
// webhooks, since a webhook is their decision to send data to another system.
func (t *Template) mayForward(by identity.Actor, hook *webhook.ID, f Facts) error {
	if hook == nil || *hook == "" || *hook == t.Transcripts {
		return nil
	}
	if err := webhook.MayManage(by); err != nil {
		return err
	}
	if !f.WebhookExists {
		return ErrTranscriptWebhook.WithFields(fault.Field{Pointer: "/transcripts/webhook_id",
			Code: ErrTranscriptWebhook.Code, Detail: ErrTranscriptWebhook.Detail})
	}
	return nil
}

// EndTranscripts ends the transcripts of t because their webhook was deleted.
func (t *Template) EndTranscripts(by identity.Actor) {
	changes := map[string]any{}
	event.Set(&t.Transcripts, new(webhook.ID("")), "transcripts", changes)
	if len(changes) > 0 {
		t.Record(by, "chat_template.updated", string(t.ID), changes)
		t.Touch(by)
	}
}
