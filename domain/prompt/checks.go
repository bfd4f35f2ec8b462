package prompt

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Limits of checks.
const (
	MaxRequiredChecks = 10 // of a template
	MaxChecks         = 50 // of a version
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
	ContentHash string // of the version at that time
	ByAuthor    bool   // whether an author of the version, or a key that they created, reported it: it does not count
	By          identity.UserID
	At          time.Time
}

// Passes reports whether c lets a version with that content be activated, or have a gated label.
func (c *Check) Passes(contentHash string) bool {
	return !c.ByAuthor && c.ContentHash == contentHash &&
		slices.Contains([]Conclusion{Success, Neutral, Skipped}, c.Conclusion)
}

// missing returns the checks that t requires and that one of versions has not passed, sorted.
func (t *Template) missing(versions []RequestedPart, checks []Check) []string {
	return slices.DeleteFunc(slices.Clone(t.RequiredChecks), func(name string) bool {
		return !slices.ContainsFunc(versions, func(v RequestedPart) bool { return !hasPassed(v, name, checks) })
	})
}

func hasPassed(v RequestedPart, name string, checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool {
		return c.Version == v.Version && c.Name == name && c.Passes(v.ContentHash)
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
	others := slices.DeleteFunc(slices.Clone(previous), func(old Check) bool { return old.Name == c.Name })
	if len(others) >= MaxChecks {
		return c, ErrCheckLimit
	}
	c.Version, c.ContentHash, c.By, c.At = v.ID, v.ContentHash, by.User, by.At
	c.ByAuthor = slices.ContainsFunc(reporters, v.isBy)
	t.Reported = append(t.Reported, c)
	t.Record(by, "prompt_version.checked", string(t.ID),
		v.named(map[string]any{"name": c.Name, "conclusion": c.Conclusion, "url": c.URL, "counts": !c.ByAuthor}))
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
	return errs.Err()
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
