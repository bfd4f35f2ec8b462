package prompt

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Limits of checks.
const (
	MaxRequiredChecks = 10            // of a template
	MaxThresholds     = 10            // of a template
	MaxChecks         = 50            // of a version
	MaxResult         = 1_000_000_000 // the largest result, and with a minus the smallest
)

// Conclusion is a check's result.
type Conclusion string

// The conclusions. As at GitHub, a neutral or skipped check does not block.
const (
	Success   Conclusion = "success"
	Neutral   Conclusion = "neutral"
	Skipped   Conclusion = "skipped"
	Failure   Conclusion = "failure"
	Aborted   Conclusion = "cancelled"
	TimedOut  Conclusion = "timed_out"
	ActionDue Conclusion = "action_required"
)

// Check is what a system outside of Atrium concluded about one version's content.
type Check struct {
	Version     VersionID
	Name        string
	Conclusion  Conclusion
	URL         string // of the report; empty: none
	Summary     string // up to 2,000 characters
	Result      *float64
	ContentHash string // of the version at that time
	ByAuthor    bool   // whether an author of the version, or a key that they created, reported it: it does not count
	By          identity.UserID
	At          time.Time
}

// Threshold is the result that versions need to pass a check. At least one bound is set; both are inclusive.
type Threshold struct {
	Name    string   `json:"name"` // of the check
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`
}

// isMet reports whether a check with that result passes. A nil threshold needs no result.
func (h *Threshold) isMet(result *float64) bool {
	return h == nil || (result != nil && (h.AtLeast == nil || *result >= *h.AtLeast) &&
		(h.AtMost == nil || *result <= *h.AtMost))
}

// Threshold returns the threshold of the check with that name, or nil.
func (t *Template) Threshold(name string) *Threshold {
	i := slices.IndexFunc(t.Thresholds, func(h Threshold) bool { return h.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Thresholds[i]
}

// Passes reports whether c lets a version of t with that content be activated, or have a gated label.
func (t *Template) Passes(c *Check, contentHash string) bool {
	return !c.ByAuthor && c.ContentHash == contentHash &&
		slices.Contains([]Conclusion{Success, Neutral, Skipped}, c.Conclusion) && t.Threshold(c.Name).isMet(c.Result)
}

// JudgedCheck is a check, and what follows from it.
type JudgedCheck struct {
	Check
	Threshold  *Threshold // nil: none
	Passed     bool       // whether the version passes
	IsOutdated bool       // whether the version was edited since
}

// Judge returns what checks of v mean for it.
func (t *Template) Judge(v *VersionInfo, checks ...Check) []JudgedCheck {
	judged := make([]JudgedCheck, len(checks))
	for i, c := range checks {
		judged[i] = JudgedCheck{Check: c, Threshold: t.Threshold(c.Name), Passed: t.Passes(&c, v.ContentHash),
			IsOutdated: c.ContentHash != v.ContentHash}
	}
	return judged
}

// missing returns the checks that t requires and that one of versions has not passed, sorted.
func (t *Template) missing(versions []RequestedPart, checks []Check) []string {
	return slices.DeleteFunc(slices.Clone(t.RequiredChecks), func(name string) bool {
		return !slices.ContainsFunc(versions, func(v RequestedPart) bool { return !t.hasPassed(v, name, checks) })
	})
}

func (t *Template) hasPassed(v RequestedPart, name string, checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool {
		return c.Version == v.Version && c.Name == name && t.Passes(&c, v.ContentHash)
	})
}

// Report records a check of v. Requires the editor role. previous are the checks of v; one with the same name is
// replaced. reporters are by and, if by uses a key, those who created it. A nil v is a version that t does not have.
// ErrCheckLimit if v has MaxChecks others.
func (t *Template) Report(
	by identity.Actor, v *VersionInfo, c Check, previous []Check, reporters []identity.UserID,
) (Check, error) {
	if err := t.Allow(by, access.Viewer); err != nil {
		return c, err
	}
	if !t.Has(by, v) {
		return c, ErrVersionNotFound
	}
	if err := t.Allow(by, access.Editor); err != nil {
		return c, err
	}
	if err := c.check(); err != nil {
		return c, err
	}
	remainder := slices.DeleteFunc(slices.Clone(previous), func(old Check) bool { return old.Name == c.Name })
	if len(remainder) >= MaxChecks {
		return c, ErrCheckLimit
	}
	c.Version, c.ContentHash, c.By, c.At = v.ID, v.ContentHash, by.User, by.At
	c.ByAuthor = slices.ContainsFunc(reporters, v.isBy)
	t.Reported = append(t.Reported, c)
	data := map[string]any{"name": c.Name, "conclusion": c.Conclusion, "url": c.URL, "counts": !c.ByAuthor}
	if c.Result != nil {
		data["result"] = *c.Result
	}
	t.Record(by, "prompt_version.checked", string(t.ID), v.named(data))
	return c, nil
}

var checkName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,49}$`)

// check returns all problems of c at once, as fault.Fields.
func (c *Check) check() error {
	var errs fault.Fields
	if !checkName.MatchString(c.Name) {
		errs.Add("/name", "invalid_format", checkNameRule)
	}
	if !slices.Contains([]Conclusion{Success, Neutral, Skipped, Failure, Aborted, TimedOut, ActionDue}, c.Conclusion) {
		errs.Add("/conclusion", "not_allowed_value", "Must be a conclusion that the reference lists.")
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
			errs.Add("/url", "invalid_format", "Must be an http or https URL without a user.")
		}
	}
	if utf8.RuneCountInString(c.Summary) > 2000 {
		errs.Add("/summary", "too_long", "Must have at most 2000 characters.")
	}
	checkResult(&errs, "/result", c.Result)
	return errs.Err()
}

func checkResult(errs *fault.Fields, pointer string, result *float64) {
	if result != nil && !(math.Abs(*result) <= MaxResult) { // also NaN
		errs.Add(pointer, "out_of_range", "Must be a number between -1000000000 and 1000000000.")
	}
}

const checkNameRule = "Must have 1 to 50 of a-z, 0-9, dot, hyphen and underscore, and begin with a letter or a digit."

// checkRequired adds what is wrong with the names of required checks.
func checkRequired(errs *fault.Fields, names []string) {
	if len(names) > MaxRequiredChecks {
		errs.Add("/required_checks", "too_many_items", "Must have at most 10 items.")
	}
	for i, name := range names {
		pointer := fmt.Sprintf("/required_checks/%d", i)
		if !checkName.MatchString(name) {
			errs.Add(pointer, "invalid_format", checkNameRule)
		}
		if slices.Contains(names[:i], name) {
			errs.Add(pointer, "duplicate_item", "Must not be listed twice.")
		}
	}
}

// checkThresholds adds what is wrong with thresholds.
func checkThresholds(errs *fault.Fields, thresholds []Threshold) {
	if len(thresholds) > MaxThresholds {
		errs.Add("/check_thresholds", "too_many_items", "Must have at most 10 items.")
	}
	for i, h := range thresholds {
		pointer := fmt.Sprintf("/check_thresholds/%d", i)
		if !checkName.MatchString(h.Name) {
			errs.Add(pointer+"/name", "invalid_format", checkNameRule)
		}
		if slices.ContainsFunc(thresholds[:i], func(other Threshold) bool { return other.Name == h.Name }) {
			errs.Add(pointer+"/name", "duplicate_item", "Must not be listed twice.")
		}
		checkResult(errs, pointer+"/at_least", h.AtLeast)
		checkResult(errs, pointer+"/at_most", h.AtMost)
		switch {
		case h.AtLeast == nil && h.AtMost == nil:
			errs.Add(pointer, "required", "Must have at_least, at_most or both.")
		case h.AtLeast != nil && h.AtMost != nil && *h.AtLeast > *h.AtMost:
			errs.Add(pointer+"/at_most", "out_of_range", "Must not be less than at_least.")
		}
	}
}

// sortedThresholds returns thresholds by the names of their checks.
func sortedThresholds(thresholds []Threshold) []Threshold {
	return slices.SortedFunc(slices.Values(thresholds), func(a, b Threshold) int { return cmp.Compare(a.Name, b.Name) })
}

// setThresholds changes thresholds, and adds that to an event's changes. A nil next keeps them.
func setThresholds(thresholds, next *[]Threshold, changes map[string]any) {
	if next == nil {
		return
	}
	sorted := sortedThresholds(*next)
	if from, to := thresholdNames(*thresholds), thresholdNames(sorted); !slices.Equal(from, to) {
		changes["check_thresholds"] = event.Change{From: from, To: to}
	}
	*thresholds = sorted
}

// thresholdNames returns each bound as "eval>=0.9".
func thresholdNames(thresholds []Threshold) []string {
	names := []string{}
	for _, h := range thresholds {
		if h.AtLeast != nil {
			names = append(names, h.Name+">="+strconv.FormatFloat(*h.AtLeast, 'g', -1, 64))
		}
		if h.AtMost != nil {
			names = append(names, h.Name+"<="+strconv.FormatFloat(*h.AtMost, 'g', -1, 64))
		}
	}
	return names
}
