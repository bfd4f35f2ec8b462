package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Limits of feedback.
const (
	MaxFeedbackReports  = 1000          // of one call
	MaxFeedbackNames    = 50            // of a template
	MaxFeedbackValues   = 20            // of a name whose values are of a set
	MaxFeedbackNumber   = 1_000_000_000 // the largest number, and with a minus the smallest
	MaxFeedbackComments = 100           // of a template; a further one replaces the oldest

	// FeedbackKeyLasts is the time for which a report's key is remembered.
	FeedbackKeyLasts = 35 * 24 * time.Hour

	// FeedbackKept is the time for which feedback is kept.
	FeedbackKept = ReadsKept

	maxFeedbackComment = 2000
	maxFeedbackChoice  = 50
	maxFeedbackKey     = 255

	// feedbackUnit is the number of units in 1: numbers are kept as multiples of a millionth, so that sums are exact.
	feedbackUnit = 1_000_000
)

// FeedbackKind is what the values of feedback with one name are.
type FeedbackKind string

// The kinds.
const (
	FeedbackNumber  FeedbackKind = "number"
	FeedbackBoolean FeedbackKind = "boolean"
	FeedbackChoice  FeedbackKind = "choice" // one of a set
)

// Errors about feedback.
var (
	ErrFeedbackKind = &fault.Error{Kind: fault.Conflict, Code: "feedback_kind_mismatch",
		Detail: "Feedback with this name has values of another kind."}
	ErrFeedbackNames = &fault.Error{Kind: fault.Conflict, Code: "feedback_limit_reached",
		Detail: "Feedback about a prompt template can have at most 50 names."}
	ErrFeedbackValues = ErrFeedbackNames.Because("Feedback with one name can have at most 20 values of a set.")
	ErrFeedbackReused = &fault.Error{Kind: fault.Invalid, Code: "idempotency_key_reused",
		Detail: "The idempotency_key was used for other feedback about the prompt template."}
)

// FeedbackValue is what a report says.
type FeedbackValue struct {
	Kind   FeedbackKind
	Number int64  // in millionths; 0 unless Kind is FeedbackNumber
	Text   string // true, false or the value of the set
}

// String returns the value as clients write it, without quotes.
func (v FeedbackValue) String() string {
	if v.Kind == FeedbackNumber {
		return strconv.FormatFloat(float64(v.Number)/feedbackUnit, 'f', -1, 64)
	}
	return v.Text
}

// feedbackValue returns a value of JSON as feedback. A number is rounded to a millionth.
func feedbackValue(value any, errs *fault.Fields) (v FeedbackValue) {
	const pointer = "/value"
	switch value := value.(type) {
	case float64:
		if math.IsNaN(value) || math.Abs(value) > MaxFeedbackNumber {
			errs.Add(pointer, "out_of_range", "Must be a number between -1000000000 and 1000000000.")
			return v
		}
		return FeedbackValue{Kind: FeedbackNumber, Number: int64(math.Round(value * feedbackUnit))}
	case bool:
		return FeedbackValue{Kind: FeedbackBoolean, Text: strconv.FormatBool(value)}
	case string:
		if value == "" {
			errs.Add(pointer, "too_short", "Must not be empty.")
		}
		errs.AddText(pointer, value, maxFeedbackChoice)
		return FeedbackValue{Kind: FeedbackChoice, Text: value}
	}
	errs.Add(pointer, "wrong_type", "Must be a number, a boolean or a string.")
	return v
}

// FeedbackRequest is what an application says about a version.
type FeedbackRequest struct {
	Template ID
	Version  string // as in ParseRef
	Reader   string // by which the rollout of the label in Version chooses one; may be empty
	Name     string
	Value    any    // of JSON
	Comment  string // may be empty
	Key      string // identifies the report on its template, so that it counts once; "" if it may count again
}

// Ref returns the reference to the version.
func (r *FeedbackRequest) Ref() Ref { return ParseRef(r.Version) }

// digest tells different requests with one Key apart. It does not depend on the version that a rollout chose, so that a
// repeated request is the same one after the rollout has changed.
func (r *FeedbackRequest) digest() string {
	text, _ := json.Marshal([]any{r.Version, r.Reader, r.Name, r.Value, r.Comment}) // of strings and a JSON value
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// FeedbackReport is a FeedbackRequest that was checked.
type FeedbackReport struct {
	Template ID
	FeedbackKey
	Name    string
	Value   FeedbackValue
	Comment string
	Key     string
	At      time.Time
}

// FeedbackKey is what is remembered of a report with a key.
type FeedbackKey struct {
	Digest  string // of the request
	Version VersionID
	Number  int // of the version
}

// NewFeedbackReport returns a report about v, the version that the request names, which is nil if not found. Requires
// the viewer role: a caller who reads a version can say what became of it.
func NewFeedbackReport(by identity.Actor, t *Reading, v *Version, w FeedbackRequest) (FeedbackReport, error) {
	if err := t.Allow(by, w.Ref(), v); err != nil {
		return FeedbackReport{}, err
	}
	var errs fault.Fields
	if !checkName.MatchString(w.Name) {
		errs.Add("/name", "invalid_format", checkNameRule)
	}
	value := feedbackValue(w.Value, &errs)
	errs.AddText("/comment", w.Comment, maxFeedbackComment)
	if n := utf8.RuneCountInString(w.Key); n > maxFeedbackKey {
		errs.Add("/idempotency_key", "too_long", "Must have at most 255 characters.")
	}
	if err := errs.Err(); err != nil {
		return FeedbackReport{}, err
	}
	return FeedbackReport{Template: t.ID, FeedbackKey: FeedbackKey{Digest: w.digest(), Version: v.ID, Number: v.Number},
		Name: w.Name, Value: value, Comment: w.Comment, Key: w.Key, At: by.At}, nil
}

// ThumbsName is the name of the feedback that visitors of chats give: whether an answer was helpful.
const ThumbsName = "thumbs"

// NewThumb returns a visitor's report about the version that answered a message. Its outcome is ErrFeedbackReused if
// the message was rated otherwise.
func NewThumb(id ID, v VersionID, number int, message string, isHelpful bool, now time.Time) FeedbackReport {
	value := FeedbackValue{Kind: FeedbackBoolean, Text: strconv.FormatBool(isHelpful)}
	return FeedbackReport{Template: id, FeedbackKey: FeedbackKey{Digest: value.Text, Version: v, Number: number},
		Name: ThumbsName, Value: value, Key: message, At: now}
}

// FeedbackOutcome is a report's outcome.
type FeedbackOutcome struct {
	Version    VersionID // for which it counts
	Number     int
	IsRepeated bool  // the report had been counted before
	Refusal    error // why it was not counted; nil if it was
}

// FeedbackName is what the values of feedback with one name are.
type FeedbackName struct {
	Kind   FeedbackKind `json:"kind"`
	Values []string     `json:"values,omitempty"` // of the set, in the order of their first use
}

// FeedbackBook decides which reports about a template count.
type FeedbackBook struct {
	Names map[string]FeedbackName
	Keys  map[string]FeedbackKey // of the reports that counted
}

// Enter returns the outcome of r, and remembers what r uses if it counts. ErrFeedbackReused, ErrFeedbackKind,
// ErrFeedbackNames or ErrFeedbackValues is the refusal of a report that does not.
func (b *FeedbackBook) Enter(r *FeedbackReport) FeedbackOutcome {
	if key, isUsed := b.Keys[r.Key]; isUsed && r.Key != "" {
		if key.Digest != r.Digest {
			return FeedbackOutcome{Refusal: ErrFeedbackReused}
		}
		return FeedbackOutcome{Version: key.Version, Number: key.Number, IsRepeated: true}
	}
	name, isUsed := b.Names[r.Name]
	switch {
	case !isUsed && len(b.Names) == MaxFeedbackNames:
		return FeedbackOutcome{Refusal: ErrFeedbackNames}
	case !isUsed:
		name.Kind = r.Value.Kind
	case name.Kind != r.Value.Kind:
		return FeedbackOutcome{Refusal: ErrFeedbackKind.Because(
			fmt.Sprintf("The first feedback with this name has a value of the kind %s.", name.Kind))}
	}
	if name.Kind == FeedbackChoice && !slices.Contains(name.Values, r.Value.Text) {
		if len(name.Values) == MaxFeedbackValues {
			return FeedbackOutcome{Refusal: ErrFeedbackValues}
		}
		name.Values = append(slices.Clone(name.Values), r.Value.Text)
	}
	b.Names[r.Name] = name
	if r.Key != "" {
		b.Keys[r.Key] = r.FeedbackKey
	}
	return FeedbackOutcome{Version: r.Version, Number: r.Number}
}
