package embeds

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/secret"
)

// Receipt returns with what the visitor can rate the answer; empty if the chat asks for no ratings, the answer is not
// by a prompt's version, or the visitor reads a preview.
func (a *Asking) Receipt() (secret.String, error) {
	answer := a.request.Prompt
	if !a.reply.AskFeedback || answer == nil || a.pass.Draft != "" {
		return secret.String{}, nil
	}
	return a.replies.embeds.seal(a.by.Org, receiptPrefix, embed.Pass{ID: a.request.ID, Token: a.pass.Token,
		Answer: answer, ExpiresAt: a.by.At.Add(embed.ReceiptLifetime)})
}

// Rate counts whether an answer was helpful for the prompt version that answered, once for each answer. Returns
// embed.ErrAnswerNotFound unless the receipt is of an answer of the session's token, and the chat asks for ratings;
// embed.ErrAnswerRated if the answer was rated otherwise.
func (s *Replies) Rate(
	ctx context.Context, v Visit, session, receipt string, isHelpful bool, limit Limit,
) error {
	pass, e, err := s.embeds.resume(ctx, v, session, limit)
	if err != nil {
		return err
	}
	rated, ok, err := s.embeds.open(v, receiptPrefix, receipt)
	if err != nil {
		return err
	}
	if !ok || rated.Answer == nil || rated.Token != pass.Token || pass.Draft != "" || !e.Template.Reply.AskFeedback {
		return embed.ErrAnswerNotFound
	}
	by, answer := identity.System(v.Org, e.Template.Workspace, "embedded chat", v.At), rated.Answer
	outcomes, err := s.feedback.AddFeedback(ctx, by,
		prompt.NewThumb(answer.Template, answer.Version, answer.Number, rated.ID, isHelpful, v.At))
	if err != nil {
		return err
	}
	switch err := outcomes[0].Refusal; {
	case errors.Is(err, prompt.ErrFeedbackReused):
		return embed.ErrAnswerRated
	case errors.Is(err, prompt.ErrNotFound):
		return embed.ErrAnswerNotFound
	default:
		return err
	}
}
