package embed

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Limits of a question and its answer.
const (
	MaxQuestion = 4000      // characters of a visitor's message
	MaxAnswer   = 32 << 10  // characters of an answer in the history
	MaxTurns    = 20        // of the history
	maxPage     = 2000      // characters of a page's URL
	MaxReplied  = 128 << 10 // an answer's bytes, and of its reasoning, of which the rest is not sent
)

// Errors for a visitor who sends a message.
var (
	ErrNoReplies = &fault.Error{Kind: fault.Conflict, Code: "replies_not_configured",
		Detail: "This chat does not answer messages."}
	ErrAnswerNotFound = &fault.Error{Kind: fault.NotFound, Code: "embed_answer_not_found",
		Detail: "There is no such answer of this chat that can be rated, or it is too old."}
	ErrAnswerRated = &fault.Error{Kind: fault.Conflict, Code: "embed_answer_rated",
		Detail: "The answer was rated before, with another rating."}
	ErrDailyReplies = &fault.Error{Kind: fault.RateLimited, Code: "daily_replies_reached",
		Detail: "This chat has answered as many messages today as it may. Try again tomorrow."}
)

// Turn is a visitor's message and its answer, as the page remembers them. A page can claim any.
type Turn struct {
	Question string
	Answer   string
}

// Question is what a visitor asks. It has no roles and no instructions: those are the template's.
type Question struct {
	Text    string // 1 to MaxQuestion characters
	History []Turn // oldest first, up to MaxTurns

	// What the page says of itself. Empty: nothing.
	Conversation string // a name of up to 64 letters, digits, - and _
	Page         string // an http or https URL of the site, up to 2000 characters
}

var conversationName = regexp.MustCompile(`^[0-9A-Za-z_-]{0,64}$`)

// Check returns an error with all that is wrong with q, which a page of origin sends.
func (q Question) Check(origin Origin) error {
	var errs fault.Fields
	if strings.TrimSpace(q.Text) == "" {
		errs.Add("/text", "too_short", "Must not be empty.")
	}
	errs.AddText("/text", q.Text, MaxQuestion)
	if !conversationName.MatchString(q.Conversation) {
		errs.Add("/conversation_id", "invalid_format", "Must be up to 64 letters, digits, - and _.")
	}
	errs.AddText("/page_url", q.Page, maxPage)
	if q.Page != "" && !origin.has(q.Page) {
		errs.Add("/page_url", "invalid_format", "Must be an http or https URL of the site that opened the session.")
	}
	if len(q.History) > MaxTurns {
		errs.Add("/history", "too_many_items", fmt.Sprintf("Must have at most %d items.", MaxTurns))
	}
	for i, t := range q.History {
		errs.AddText(fmt.Sprintf("/history/%d/text", i), t.Question, MaxQuestion)
		errs.AddText(fmt.Sprintf("/history/%d/answer", i), t.Answer, MaxAnswer)
	}
	return errs.Err()
}

// has reports whether o has the page with a URL. A page without an origin can be anywhere.
func (o Origin) has(page string) bool {
	u, err := url.Parse(page)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return false
	}
	site, ok := ParseOrigin(u.Scheme + "://" + u.Host)
	return ok && (site == o || o == NoOrigin || o == OpaqueOrigin)
}

// Part is what an answer piece holds. Its values are the names of events.
type Part string

// An answer's parts.
const (
	PartText      Part = "delta"     // the answer itself
	PartReasoning Part = "reasoning" // what the model thought before the answer
	PartRefusal   Part = "refusal"   // why the model does not answer, in its own words
)

// Piece is an answer piece, in UTF-8.
type Piece struct {
	Part Part
	Text string
}

// ReplyFailure explains to a visitor why an answer is missing or not complete.
type ReplyFailure string

// The failures of replies.
const (
	ReplyFailed   ReplyFailure = "reply_failed"    // the endpoint is unreachable, refuses, or its response is invalid
	ReplyTimeout  ReplyFailure = "reply_timeout"   // it is too slow
	ReplyTooLarge ReplyFailure = "reply_too_large" // the answer exceeds MaxReplied
	ReplyEmpty    ReplyFailure = "reply_empty"     // it ended without text, for example with only a tool call
)

func (f ReplyFailure) Error() string { return string(f) }

// Detail explains f to a visitor, and reveals nothing of the endpoint.
func (f ReplyFailure) Detail() string {
	switch f {
	case ReplyTimeout:
		return "The answer took too long. Try again."
	case ReplyTooLarge:
		return "The answer is too long to show the rest of it."
	case ReplyEmpty:
		return "The chat did not find an answer. Try again."
	default:
		return "The chat cannot answer at the moment. Try again later."
	}
}
