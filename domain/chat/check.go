package chat

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// A template's limits.
const (
	maxName         = 120      // characters
	maxDescription  = 2000     // characters
	maxAvatarURL    = 2000     // bytes
	maxInstructions = 64 << 10 // bytes
	maxGreeting     = 2000     // characters
	maxStarter      = 200      // characters
	maxStarters     = 10
	maxAgents       = 10
	maxTools        = 50
	maxCapabilities = 20
	maxMetadata     = 16 << 10 // bytes
)

// check returns all errors in the fields of t that do not depend on the registry. A stored name (not renamed) is not
// checked, and texts that previous has may read in any order.
func (t *Template) check(isRenamed bool, previous Content) error {
	var errs fault.Fields
	t.checkTexts(&errs, previous)
	switch n := utf8.RuneCountInString(t.Name); {
	case !isRenamed:
	case n == 0:
		errs.Add("/name", "too_short", "Must not be empty.")
	case n > maxName:
		errs.Add("/name", "too_long", fmt.Sprintf("Must have at most %d characters.", maxName))
	case t.Name != strings.TrimSpace(t.Name) || naming.Deceptive(t.Name):
		errs.Add("/name", "invalid_format", naming.Refusal+" Must not begin or end with a space.")
	}
	errs.AddText("/description", t.Description, maxDescription)
	if t.AvatarURL != "" && !isAvatar(t.AvatarURL) {
		errs.Add("/avatar_url", "invalid_format", "Must be an https URL without user, of at most 2000 bytes.")
	}
	if len(t.Instructions) > maxInstructions {
		errs.Add("/instructions", "too_long", "Must take at most 64 KiB.")
	}
	errs.AddCharacters("/instructions", t.Instructions)
	t.checkPrompt(&errs)
	checkSelected(&errs, "/agents", t.Agents, maxAgents)
	checkSelected(&errs, "/tools", t.Tools, maxTools)
	checkIDs(&errs, "/capabilities", t.Capabilities, maxCapabilities,
		func(i int) string { return fmt.Sprintf("/capabilities/%d", i) })
	checkGreeting(&errs, "", t.Greeting, t.Starters)
	checkTranslations(&errs, t.Translations)
	if len(t.Metadata) > maxMetadata {
		errs.Add("/metadata", "too_long", "Must take at most 16 KiB as JSON.")
	}
	t.Reply.check(&errs)
	t.Theme.Check(&errs, "/theme")
	if !slices.Contains([]Status{StatusDraft, StatusPublished, StatusDisabled}, t.Status) {
		errs.Add("/status", "not_allowed_value", "Must be draft, published or disabled.")
	}
	t.Visibility.Check(&errs)
	return errs.Err()
}

// checkTexts adds the texts that others read, unless previous has them.
func (t *Template) checkTexts(errs *fault.Fields, previous Content) {
	if t.Description != previous.Description {
		naming.CheckText(errs, "/description", t.Description)
	}
	if t.Greeting != previous.Greeting {
		naming.CheckText(errs, "/greeting", t.Greeting)
	}
	for i, s := range t.Starters {
		if !slices.Contains(previous.Starters, s) {
			naming.CheckText(errs, fmt.Sprintf("/conversation_starters/%d", i), s)
		}
	}
}

func (t *Template) checkPrompt(errs *fault.Fields) {
	switch p := t.Prompt; {
	case p == Prompt{}:
	case t.Instructions != "":
		errs.Add("/prompt", "not_allowed_value", "Must not be given together with instructions.")
	// uses are found by text, so v01 is not accepted
	case prompt.ParseRef(p.Ref) == prompt.Ref{}, strings.HasPrefix(p.Ref, "v0"):
		errs.Add("/prompt/ref", "invalid_format",
			"Must be active, previous, latest, v and a number, a label, or a version's id.")
	}
}

// check checks the items of c that before does not have against the registry, and a prompt against what the caller
// may see. An item that keeps its configuration is not checked, because the registry may have changed since. check
// returns all errors at once, under the code of the first.
func (f Facts) check(previous, c Content, newPrompt, newReply bool) error {
	var errs fault.Fields
	checkOffered(&errs, "/agents", previous.Agents, c.Agents, f.Registry.Agents)
	checkOffered(&errs, "/tools", previous.Tools, c.Tools, f.Registry.Tools)
	for i, id := range c.Capabilities {
		if !slices.Contains(previous.Capabilities, id) {
			checkItem(&errs, fmt.Sprintf("/capabilities/%d", i), id, f.Registry.Capabilities)
		}
	}
	if newPrompt && !f.PromptSeen {
		errs.Add("/prompt", ErrPromptUnavailable.Code, ErrPromptUnavailable.Detail)
	}
	if newReply && !f.ReplyUsable {
		errs.Add("/reply/connection_id", ErrReplyConnection.Code, ErrReplyConnection.Detail)
	}
	if len(errs) == 0 {
		return nil
	}
	for _, err := range []*fault.Error{ErrUnknownItem, ErrInvalidConfig, ErrReplyConnection} {
		if slices.ContainsFunc(errs, func(w fault.Field) bool { return w.Code == err.Code }) {
			return err.WithFields(errs...)
		}
	}
	return ErrPromptUnavailable.WithFields(errs...)
}

// isAvatar reports whether s is an image address that discloses nothing more than the request when a
// browser fetches it.
func isAvatar(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && len(s) <= maxAvatarURL &&
		!strings.ContainsFunc(s, unicode.IsControl)
}

func checkSelected(f *fault.Fields, pointer string, selection []Selected, limit int) {
	ids := make([]string, len(selection))
	for i, s := range selection {
		ids[i] = s.ID
	}
	checkIDs(f, pointer, ids, limit, func(i int) string { return fmt.Sprintf("%s/%d/id", pointer, i) })
}

// checkIDs refuses too many items, and duplicates.
func checkIDs(f *fault.Fields, pointer string, ids []string, limit int, pointerOf func(int) string) {
	if len(ids) > limit {
		f.Add(pointer, "too_many_items", fmt.Sprintf("Must have at most %d items.", limit))
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			f.Add(pointerOf(i), "duplicate_item", "Is in the list already.")
		}
	}
}

// checkOffered adds the selected items that the registry does not offer, and configurations that break
// their schema. Items that before has are not checked.
func checkOffered(f *fault.Fields, pointer string, previous, selection []Selected, items []Item) {
	for i, s := range selection {
		if slices.ContainsFunc(previous, func(b Selected) bool { return sameSelected(b, s) }) {
			continue
		}
		place := fmt.Sprintf("%s/%d", pointer, i)
		if item := checkItem(f, place+"/id", s.ID, items); item != nil {
			item.checkConfig(place+"/config", s.Config, f)
		}
	}
}

// checkItem adds an error for an id that belongs to no item, or to a disabled one; otherwise it
// returns the item.
func checkItem(f *fault.Fields, pointer, id string, items []Item) *Item {
	item := find(items, id)
	switch {
	case item == nil:
		f.Add(pointer, ErrUnknownItem.Code, "Is not in the registry.")
		return nil
	case item.Status == ItemDisabled:
		f.Add(pointer, ErrUnknownItem.Code, "Must not be disabled in the registry.")
		return nil
	}
	return item
}
