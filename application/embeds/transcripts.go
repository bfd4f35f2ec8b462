package embeds

import (
	"strings"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/ports"
)

// transcriptLost counts, among a token's failures, the turns that did not reach the webhook.
const transcriptLost = "transcript_lost"

// transcript collects the answer of a turn that a webhook gets.
type transcript struct {
	answer  strings.Builder
	refused bool
}

// add adds a piece of the answer. What the model thought is no part of the turn.
func (t *transcript) add(a *Asking, p embed.Piece) {
	if a.transcripts == "" || p.Part == embed.PartReasoning {
		return
	}
	t.refused = t.refused || p.Part == embed.PartRefusal
	t.answer.WriteString(p.Text)
}

// forward passes the whole turn on, if a webhook gets it.
func (t *transcript) forward(a *Asking) {
	if a.transcripts == "" {
		return
	}
	r, q := &a.request, &a.request.Question
	a.replies.forward(a.by, a.transcripts, &ports.Turn{
		ID: r.ID, Workspace: a.by.Workspace, Template: r.Template, Token: r.Token, Origin: r.Origin,
		Visitor: r.Visitor, Signed: r.Signed, Session: r.Session, Conversation: q.Conversation, Page: q.Page,
		Prompt: r.Prompt, Question: q.Text, Answer: t.answer.String(), Refused: t.refused, At: a.by.At,
	}, func() { a.replies.outcomes.lose(a) })
}

// lose counts a turn that did not reach the webhook.
func (o *outcomes) lose(a *Asking) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count(usedToken{a.by.Org, a.pass.Token}, failedBy{embed.DayOf(a.by.At), transcriptLost}, 1)
}
