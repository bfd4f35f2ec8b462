package embeds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// UseConnection calls do with a connection's readable credential, whose kind it also checks against what the org
// offers. The context of do ends when the credential is replaced or revoked.
type UseConnection func(ctx context.Context, by identity.Actor, id connection.ID,
	call func(context.Context, ports.Warehouse, ports.Target) error) error

// Repliers are the adapters that ask an organisation's endpoints, by the kind of their connection.
type Repliers map[connection.Kind]ports.Replier

// Forward passes a finished turn on to a webhook of by's workspace, and does not wait for it. lost is called if the
// turn does not arrive.
type Forward func(by identity.Actor, hook webhook.ID, t *ports.Turn, lost func())

// Replies relays the messages of visitors to reply endpoints. It stores neither messages nor replies.
type Replies struct {
	embeds    *Service
	counts    *replyCounts
	outcomes  *outcomes
	effective Effective
	use       UseConnection
	repliers  Repliers
	feedback  ports.PromptFeedback
	forward   Forward
	read      Read
}

// Read counts that an application has read a prompt's version.
type Read func(by identity.Actor, versions ...prompt.VersionID)

// Effective returns what a model gets, with values for variables of its prompt; key decides which version a rollout
// chooses. Returns
// chat.ErrPromptGone if the prompt or its version no longer exists, and an error that is chat.IsUnfilled if it has no
// instructions with these values.
type Effective func(
	ctx context.Context, by identity.Actor, t *chat.Template, values map[string]any, key string,
) (chat.Effective, error)

// NewReplies returns the use cases on embeds. It counts replies in counts and ratings in feedback, which are in the
// same database.
func NewReplies(
	counts ports.EmbedReplies, feedback ports.PromptFeedback, embeds *Service, e Effective, u UseConnection, r Repliers,
	forward Forward, read Read,
) *Replies {
	return &Replies{
		embeds: embeds, counts: &replyCounts{store: counts, reserved: map[countedFor]*counted{}}, effective: e, use: u,
		repliers: r, feedback: feedback, forward: forward, read: read,
		outcomes: &outcomes{chats: map[repliedChat]replied{}, failures: map[usedToken]map[failedBy]int64{}},
	}
}

// Asking is an admitted visitor message.
type Asking struct {
	replies *Replies
	by      identity.Actor
	reply   chat.Reply
	request ports.ReplyRequest
	pass    embed.Pass

	afterFailures bool // the template's latest reply failed

	transcripts webhook.ID // which gets the turn; empty: none
}

// Ask admits a visitor's message and counts it, as a read of the prompt's version too. Everything that the endpoint
// gets besides the message comes from the template and the session, not from the page. Returns embed.ErrNoReplies if
// the template has no reply endpoint, and embed.ErrDailyReplies if the token, or the template's previews, have had as
// many replies today as they may.
func (s *Replies) Ask(ctx context.Context, v Visit, session string, q embed.Question, limit Limit) (*Asking, error) {
	pass, e, err := s.embeds.resume(ctx, v, session, limit)
	if err != nil {
		return nil, err
	}
	if err := q.Check(pass.Origin); err != nil {
		return nil, err
	}
	if q.Conversation == "" {
		q.Conversation = pass.ID
	}
	if !e.Template.Reply.Answers() {
		return nil, embed.ErrNoReplies
	}
	by := identity.System(v.Org, e.Template.Workspace, "embedded chat", v.At)
	t, effective, err := s.served(ctx, by, e.Template.ID, pass)
	if err != nil {
		return nil, err
	}
	a := &Asking{replies: s, by: by, pass: pass, reply: t.Reply, afterFailures: t.Replies.Failures > 0,
		request: ports.ReplyRequest{
			ID: id.New("msg"), Template: t.ID, Token: pass.Token, Origin: pass.Origin, Visitor: pass.Visitor,
			Signed: pass.Signed, Attributes: json.RawMessage(pass.Attributes), Session: pass.ID,
			ModelName: t.Reply.Model, Question: q, Effective: effective,
		}}
	var isCounted bool
	if pass.Draft != "" {
		isCounted = s.counts.own(replyTo{token: e.Token.ID}, embed.DayOf(v.At)) < embed.PreviewsPerDay
	} else {
		a.transcripts = t.Transcripts
		isCounted, err = s.counts.take(ctx, &e.Token, v, pass)
	}
	if err == nil && !isCounted {
		tomorrow := v.At.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		err = embed.ErrDailyReplies.WithRetryAfter(tomorrow.Sub(v.At))
	}
	if err == nil && pass.Draft == "" && effective.Prompt != nil {
		s.read(by, effective.Prompt.Version)
	}
	return a, err
}

// served returns a template as a visitor with a pass gets it, and what a model gets for them. Returns
// embed.ErrNoReplies if there are no instructions, because the chat could then say anything.
func (s *Replies) served(
	ctx context.Context, by identity.Actor, id chat.ID, pass embed.Pass,
) (*chat.Template, chat.Effective, error) {
	t, err := s.embeds.chats.Get(ctx, by, id)
	if err != nil {
		return nil, chat.Effective{}, err
	}
	view := *t
	if pass.Draft == "" {
		view.Content = t.Served()
	}
	values, err := view.Reply.ValuesOf(pass.Attributes)
	if err != nil {
		return nil, chat.Effective{}, err
	}
	e, err := s.effective(ctx, by, &view, values, pass.ID)
	if chat.IsUnfilled(err) && len(values) > 0 { // attributes that fit no variable change nothing
		e, err = s.effective(ctx, by, &view, nil, pass.ID)
	}
	if errors.Is(err, chat.ErrPromptGone) || chat.IsUnfilled(err) {
		err = embed.ErrNoReplies
	}
	return &view, e, err
}

// Verify is Service.Verify. It also returns the prompt version that replies to the session; nil if none does.
func (s *Replies) Verify(ctx context.Context, by identity.Actor, session string) (
	*Session, *chat.PromptVersion, error,
) {
	found, err := s.embeds.Verify(ctx, by, session)
	if err != nil || !found.Embedding.Template.Reply.Answers() {
		return found, nil, err
	}
	system := identity.System(by.Org, by.Workspace, "embedded chat", by.At)
	_, e, err := s.served(ctx, system, found.Embedding.Template.ID, found.Pass)
	if errors.Is(err, embed.ErrNoReplies) {
		return found, nil, nil
	}
	return found, e.Prompt, err
}

// Pass returns the session of the visitor, which must continue as long as the answer.
func (a *Asking) Pass() embed.Pass { return a.pass }

// Conversation returns the conversation's name.
func (a *Asking) Conversation() string { return a.request.Question.Conversation }

// Prompt returns the prompt version that replies; nil if the instructions are the template's own.
func (a *Asking) Prompt() *chat.PromptVersion { return a.request.Prompt }

// Connection returns the connection that replies, for the log.
func (a *Asking) Connection() connection.ID { return a.reply.Connection }

// Answer relays the message, and passes each piece of the reply to yield, but reasoning only if the template shows it.
// Errors are an embed.ReplyFailure with a cause for the log, the error of yield, or the context's.
func (a *Asking) Answer(ctx context.Context, yield func(embed.Piece) error) error {
	var t transcript
	visible := func(p embed.Piece) error {
		t.add(a, p)
		if p.Part == embed.PartReasoning && !a.reply.ShowReasoning {
			return nil
		}
		return yield(p)
	}
	err := a.replies.use(ctx, a.by, a.reply.Connection,
		func(ctx context.Context, _ ports.Warehouse, target ports.Target) error {
			replier, ok := a.replies.repliers[target.Credential.Kind()]
			if !ok || target.Credential.Kind() != a.reply.Needs() {
				return errors.New("the connection is of another kind")
			}
			return replier.Reply(ctx, target, a.request, visible)
		})
	if _, isKnown := errors.AsType[embed.ReplyFailure](err); err != nil && !isKnown && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", embed.ReplyFailed, err)
	}
	if a.pass.Draft == "" && ctx.Err() == nil { // a preview, or a visitor who left, says nothing about the endpoint
		a.replies.outcomes.add(a, err)
	}
	if err == nil {
		t.forward(a)
	}
	return err
}
