package prompts

import (
	"context"
	"errors"
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Expanded returns v, a version of the template of, as its readers get it: with the texts of its includes. A released
// version has them as they were when it was released; a floating template's as they are now for the owner of that
// template (prompt.Reference), or as they were then if an include no longer has a text. A draft's includes are read as
// by, and cause the errors of prompt.Content.Expand.
func Expanded(ctx context.Context, store ports.PromptVersions, by identity.Actor, reading *prompt.Reading,
	v *prompt.Version) (*prompt.Version, error) {
	switch {
	case len(v.Includes) == 0:
		return v, nil
	case v.Pinned != nil && !reading.Floating:
		return v.Expanded(*v.Pinned), nil
	}
	read := &includes{store: store, by: by, system: system(by), released: v.Frozen}
	e, err := read.expand(ctx, reading.ID, v, nil)
	if v.Pinned != nil && isIncludeError(err) {
		return v.Expanded(*v.Pinned), nil
	}
	if err != nil {
		return nil, err
	}
	return v.Expanded(e), nil
}

// Resolved is Version with the texts of the version's includes. If a rollout of the label that ref names runs, key
// chooses the version; the empty key chooses the one that has the label.
func (s *Service) Resolved(
	ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref, key string,
) (*prompt.Reading, *prompt.Version, error) {
	t, v, err := s.Version(ctx, by, id, ref)
	return s.resolved(ctx, by, ref, key, t, v, err)
}

// ResolvedByName is Resolved for the live template with that name.
func (s *Service) ResolvedByName(
	ctx context.Context, by identity.Actor, name string, ref prompt.Ref, key string,
) (*prompt.Reading, *prompt.Version, error) {
	t, v, err := s.prompts.GetVersionByName(ctx, by, name, ref)
	t, v, err = readable(by, ref, t, v, err)
	return s.resolved(ctx, by, ref, key, t, v, err)
}

// resolved chooses and fills in the version that was found by ref.
func (s *Service) resolved(ctx context.Context, by identity.Actor, ref prompt.Ref, key string, t *prompt.Reading,
	v *prompt.Version, err error) (*prompt.Reading, *prompt.Version, error) {
	if err != nil {
		return nil, nil, err
	}
	if v, err = Chosen(ctx, s.prompts, by, t, v, ref, key); err != nil {
		return nil, nil, err
	}
	v, err = Expanded(ctx, s.prompts, by, t, v)
	return t, v, err
}

// system is the actor that reads the includes of released versions, which their readers need not be allowed to read.
// The rights of the owner of the including prompt decide which versions these are.
func system(by identity.Actor) identity.Actor {
	return identity.System(by.Org, by.Workspace, "prompt includes", by.At)
}

// includeRoom is the number of bytes that the versions in a transaction can still have, including the text of their
// includes. On SQLite no one else can write until the transaction ends, and a megabyte takes 250 ms: without a limit,
// an import of 100 KB, whose prompts include 256 KiB each, takes half a minute.
type includeRoom int

const (
	maxExpanded = 8 << 20 // bytes
	minIncluded = 1 << 10 // that each include counts at least, since reading a short one takes time, too
)

// errIncludesTooLarge is ErrIncludeTooLarge for several versions.
var errIncludesTooLarge = prompt.ErrIncludeTooLarge.Because("With their includes the versions would have more than " +
	"8 MiB, where each include counts as 1 KiB at least. Save them in several requests.")

func newIncludeRoom() *includeRoom { return new(includeRoom(maxExpanded)) }

// holds takes the place of e, for which included versions were read, and reports whether there was enough.
func (r *includeRoom) holds(e prompt.Expansion, count int) bool {
	*r -= includeRoom(max(e.Content.Size(), count*minIncluded))
	return *r >= 0
}

// isIncludeError reports whether err means that an include has no text.
func isIncludeError(err error) bool {
	return slices.ContainsFunc([]error{prompt.ErrIncludeNotFound, prompt.ErrIncludeNotText, prompt.ErrIncludeCycle,
		prompt.ErrIncludeTooDeep, prompt.ErrIncludeTooLarge}, func(e error) bool { return errors.Is(err, e) })
}

// includes reads the versions that a version includes.
type includes struct {
	store  ports.PromptVersions
	by     identity.Actor // the actor for direct includes of a version that is not released yet
	system identity.Actor // the actor for all others
	read   int            // versions

	released bool // the including version is
}

// expand returns the content of v with the texts of its includes. ancestors are the templates that include v.
func (i *includes) expand(ctx context.Context, template prompt.ID, v *prompt.Version,
	ancestors []prompt.ID) (prompt.Expansion, error) {
	ancestors = append(slices.Clone(ancestors), template)
	var sources []prompt.Source
	for _, tag := range v.Content.IncludeTags() {
		k := slices.IndexFunc(v.Includes, func(b prompt.Include) bool { return b.Name == tag.Name && b.Ref == tag.Ref })
		if k < 0 {
			return prompt.Expansion{}, tag.Refuse(prompt.ErrIncludeNotFound)
		}
		source, err := i.source(ctx, v.Includes[k], ancestors)
		if f, ok := errors.AsType[*fault.Error](err); ok && isIncludeError(err) {
			return prompt.Expansion{}, tag.Refuse(f)
		}
		if err != nil {
			return prompt.Expansion{}, err
		}
		sources = append(sources, source)
	}
	return v.Content.Expand(template, sources)
}

// source reads the text that replaces an include.
func (i *includes) source(ctx context.Context, include prompt.Include, ancestors []prompt.ID) (prompt.Source, error) {
	if i.read++; i.read > prompt.MaxIncluded {
		return prompt.Source{}, prompt.ErrIncludeTooLarge
	}
	var t *prompt.Reading
	var v *prompt.Version
	var lost bool
	var err error
	by, ref := i.by, prompt.ParseRef(include.Ref)
	if i.released || len(ancestors) > 1 {
		by = i.system
		t, v, lost, err = i.store.Referenced(ctx, by, prompt.Reference{
			Holder: string(ancestors[len(ancestors)-1]), Template: include.Template, Ref: include.Ref})
	} else {
		t, v, err = i.store.GetVersion(ctx, by, include.Template, ref)
	}
	if err := included(by, ref, t, v, err); err != nil {
		return prompt.Source{}, err
	}
	out := prompt.Source{Included: prompt.Included{Include: include, Version: v.ID, Number: v.Number, Lost: lost}}
	switch {
	case slices.Contains(ancestors, t.ID):
		return out, prompt.ErrIncludeCycle
	case len(ancestors) > prompt.MaxIncludeDepth:
		return out, prompt.ErrIncludeTooDeep
	case v.Pinned != nil && !t.Floating:
		out.Text = *v.Pinned
	default:
		out.Text, err = i.expand(ctx, t.ID, v, ancestors)
	}
	return out, err
}

// included returns the error of an include that names v, a version of t, or that the store did not find.
func included(by identity.Actor, ref prompt.Ref, t *prompt.Reading, v *prompt.Version, err error) error {
	switch {
	case errors.Is(err, prompt.ErrNotFound):
		return prompt.ErrIncludeNotFound
	case err != nil:
		return err
	case t.Allow(by, ref, v) != nil || !v.Frozen:
		return prompt.ErrIncludeNotFound
	case t.Type != prompt.Text:
		return prompt.ErrIncludeNotText
	}
	return nil
}

// include finds what v, a version of the template of that was saved in this transaction, includes, and pins that if v
// is released. It does nothing for a version that never had an include. bind is set if its text changed; previous are
// then the includes of the text before. room is the transaction's.
func include(ctx context.Context, tx ports.Stores, by identity.Actor, template prompt.ID, v *prompt.Version,
	bind bool, previous []prompt.Include, room *includeRoom) error {
	tags := v.Content.IncludeTags()
	if len(tags) == 0 && len(v.Includes) == 0 {
		return nil
	}
	// One at a time in a workspace: two versions that are released concurrently could include each other.
	if err := tx.Usage.Lock(ctx, by.Workspace); err != nil {
		return err
	}
	if bind {
		bound, err := boundTo(ctx, tx.Prompts, by, tags, previous)
		if err != nil {
			return err
		}
		v.Includes = bound
	}
	read := &includes{store: tx.Prompts, by: by, system: system(by)}
	e, err := read.expand(ctx, template, v, nil)
	if err != nil {
		return err
	}
	if len(tags) > 0 && !room.holds(e, read.read) {
		return tags[0].Refuse(errIncludesTooLarge)
	}
	if v.Pinned = nil; v.Frozen && len(tags) > 0 {
		v.Pinned = &e
	}
	return tx.Prompts.SetIncludes(ctx, by, v)
}

// includable returns the error that pin would return if by released a version of t.
func includable(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template,
	info *prompt.VersionInfo) error {
	if len(info.Includes) == 0 || info.Frozen {
		return nil
	}
	_, v, err := tx.Prompts.GetVersion(ctx, by, t.ID, prompt.Ref{ID: info.ID})
	if err != nil || v == nil {
		return err
	}
	_, err = Expanded(ctx, tx.Prompts, by, t.Reading(), v)
	return err
}

// boundTo finds the templates that tags name. A tag that is in previous stays with its template, whatever that is
// called now, unless it was deleted.
func boundTo(ctx context.Context, store ports.PromptVersions, by identity.Actor,
	tags []prompt.IncludeTag, previous []prompt.Include) ([]prompt.Include, error) {
	if len(tags) > prompt.MaxIncluded {
		return nil, tags[prompt.MaxIncluded].Refuse(prompt.ErrIncludeTooLarge)
	}
	bound := make([]prompt.Include, len(tags))
	for i, tag := range tags {
		ref := prompt.ParseRef(tag.Ref)
		t, v, err := named(ctx, store, by, tag.Include, previous)
		if err = included(by, ref, t, v, err); err != nil {
			if f, ok := errors.AsType[*fault.Error](err); ok && isIncludeError(err) {
				return nil, tag.Refuse(f)
			}
			return nil, err
		}
		bound[i] = tag.Include
		bound[i].Template = t.ID
	}
	return bound, nil
}

// named returns what an include names: a version of the template that it has among previous, or else of the one with
// its name.
func named(ctx context.Context, store ports.PromptVersions, by identity.Actor, i prompt.Include,
	previous []prompt.Include) (*prompt.Reading, *prompt.Version, error) {
	ref := prompt.ParseRef(i.Ref)
	k := slices.IndexFunc(previous, func(old prompt.Include) bool { return old.Name == i.Name })
	if k >= 0 {
		t, v, err := store.GetVersion(ctx, by, previous[k].Template, ref)
		if !errors.Is(err, prompt.ErrNotFound) && (err != nil || t.DeletedAt.IsZero()) {
			return t, v, err
		}
	}
	return store.GetVersionByName(ctx, by, i.Name, ref)
}

// pin is include for a version that was released in this transaction, whose text stayed. It returns the quota of what
// it stored.
func pin(ctx context.Context, tx ports.Stores, by identity.Actor, template prompt.ID,
	info *prompt.VersionInfo) ([]quota.Kind, error) {
	if len(info.Includes) == 0 {
		return nil, nil
	}
	_, v, err := tx.Prompts.GetVersion(ctx, by, template, prompt.Ref{ID: info.ID})
	if err != nil || v == nil || v.Pinned != nil {
		return nil, err
	}
	return []quota.Kind{quota.StorageBytes}, include(ctx, tx, by, template, v, false, nil, newIncludeRoom())
}
