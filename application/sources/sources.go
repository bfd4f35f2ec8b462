// Package sources holds the use cases of data sources, and Atrium's background work with them. Methods
// that read a sheet or a warehouse are separate from methods that store: a table is read outside any
// transaction, and the method that stores the result checks whether it still applies.
package sources

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Offer lists the types of data and the places that an org's workspaces can use.
type Offer struct {
	Types  []source.Type
	Egress identity.Egress
	Sheets ports.SheetOffer
	Rows   source.RowLimits
}

// Offers returns an org's current offer; zero if the org is not configured.
type Offers func(identity.OrgID) Offer

// WithCredential calls do with what a connection reaches and its credential, as connections.Service.Use does.
type WithCredential func(ctx context.Context, by identity.Actor, id connection.ID,
	call func(context.Context, ports.Warehouse, ports.Target) error) error

// Service holds the use cases, one method each.
type Service struct {
	atomic      ports.Atomic
	sources     ports.Sources
	validations ports.SourceValidations
	changes     ports.SourceChanges
	files       ports.SourceFiles
	deps        Deps
}

// Deps are a Service's dependencies other than the stores of its area.
type Deps struct {
	Connections    ports.Connections
	Workspaces     ports.Workspaces
	Jobs           ports.Jobs
	Sheets         ports.Sheets
	WithCredential WithCredential
	Offers         Offers
	Digester       ports.Digester
	Notes          ports.Notes
	Limits         Limits
	Quotas         ports.Quotas
	Sealer         ports.Sealer    // of the keys of uploaded files
	FileParts      ports.FileParts // nil if files cannot be uploaded
}

// Limits bound the requests of callers.
type Limits struct {
	Previews connection.PreviewLimits
	Refresh  time.Duration // shortest time between the end of a refresh and the next one that a caller requests
}

// NewService returns the use cases on these stores.
func NewService(atomic ports.Atomic, s ports.SourceStores, d Deps) *Service {
	return &Service{
		atomic: atomic, sources: s.Sources, validations: s.SourceValidations, changes: s.SourceChanges,
		files: s.SourceFiles, deps: d,
	}
}

// Seen is a source, with how well it fills the fields of the current type of its org.
type Seen struct {
	*source.Source
	Report source.MappingReport
}

func (s *Service) seen(src *source.Source) Seen {
	return Seen{Source: src, Report: src.Report(s.typeOf(src.Org, src.Type))}
}

// typeOf returns a current org type; nil if not found.
func (s *Service) typeOf(org identity.OrgID, key source.TypeKey) *source.Type {
	types := s.deps.Offers(org).Types
	if i := slices.IndexFunc(types, func(t source.Type) bool { return t.Key == key }); i >= 0 {
		return &types[i]
	}
	return nil
}

// offeredType is typeOf for a caller who requests the type.
func (s *Service) offeredType(by identity.Actor, key source.TypeKey) (source.Type, error) {
	t := s.typeOf(by.Org, key)
	if t == nil {
		return source.Type{}, source.ErrUnknownType
	}
	return *t, nil
}

// Types returns the types of by's org.
func (s *Service) Types(by identity.Actor) []source.Type { return s.deps.Offers(by.Org).Types }

// List returns the workspace's sources, newest first.
func (s *Service) List(ctx context.Context, by identity.Actor, q page.Query) (page.Of[Seen], error) {
	found, err := s.sources.List(ctx, by.Workspace, q)
	if err != nil {
		return page.Of[Seen]{}, err
	}
	out := page.Of[Seen]{Next: found.Next}
	for i := range found.Items {
		if src := &found.Items[i]; src.Access(by) >= source.See {
			out.Items = append(out.Items, s.seen(src))
		}
	}
	return out, nil
}

// ListThrough returns the sources that read through a connection.
func (s *Service) ListThrough(ctx context.Context, by identity.Actor, id connection.ID) ([]source.Summary, error) {
	found, err := s.sources.ListThrough(ctx, by.Workspace, id)
	return slices.DeleteFunc(found, func(src source.Summary) bool { return src.Access(by) < source.See }), err
}

// Get returns a source.
func (s *Service) Get(ctx context.Context, by identity.Actor, id source.ID) (Seen, error) {
	src, err := s.get(ctx, by, id, source.See)
	if err != nil {
		return Seen{}, err
	}
	return s.seen(src), nil
}

func (s *Service) get(
	ctx context.Context, by identity.Actor, id source.ID, need source.Access,
) (*source.Source, error) {
	src, err := s.sources.Get(ctx, by.Workspace, id)
	if err != nil {
		return nil, err
	}
	return src, src.Allow(by, need)
}

// Jobs returns a source's past and queued jobs, newest first.
func (s *Service) Jobs(ctx context.Context, by identity.Actor, id source.ID, q page.Query) (page.Of[job.Entry], error) {
	if _, err := s.get(ctx, by, id, source.See); err != nil {
		return page.Of[job.Entry]{}, err
	}
	return s.deps.Jobs.History(ctx, by.Workspace, string(id), q)
}

// Read reads a new source's table. Nothing is stored. It returns source.ErrHeaderUncertain if a sheet's header is
// neither given nor certain.
func (s *Service) Read(ctx context.Context, by identity.Actor, d source.Draft) (source.Reading, error) {
	if err := source.MayCreate(by); err != nil {
		return source.Reading{}, err
	}
	t, err := s.offeredType(by, d.Type)
	if err != nil {
		return source.Reading{}, err
	}
	if err := d.Check(t); err != nil {
		return source.Reading{}, err
	}
	r, err := s.read(ctx, by, d.Location, columnsQuery(d.Mapping))
	if err != nil {
		return source.Reading{}, toFault(err)
	}
	s.previewed(ctx, by, "", r.Location)
	if err := r.HeaderCertain(); err != nil {
		return source.Reading{}, err
	}
	return r, nil
}

// lockConnection locks a connection against revocation until tx ends; connection.ErrRevoked if it is revoked.
// Code that stores that a source reads through a connection must lock it, so that a revocation either
// finds the source or comes first.
func lockConnection(ctx context.Context, tx ports.Stores, by identity.Actor, id connection.ID) error {
	if id == "" {
		return nil
	}
	c, err := tx.Connections.Lock(ctx, by.Workspace, id)
	if err != nil {
		return err
	}
	return c.MayTry(by, false)
}

// Attach stores a source whose table Read has read, and queues its first refresh.
func (s *Service) Attach(
	ctx context.Context, by identity.Actor, d source.Draft, r source.Reading,
) (out Seen, err error) {
	t, err := s.offeredType(by, d.Type)
	if err != nil {
		return Seen{}, err
	}
	limits, err := s.deps.Quotas(ctx, by)
	if err != nil {
		return Seen{}, err
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := lockConnection(ctx, tx, by, r.Location.Connection); err != nil {
			return err
		}
		if err := lockFile(ctx, tx, by, r.Location.Sheet); err != nil {
			return err
		}
		var created *source.Source
		if err := tx.Sources.Add(ctx, by, func(others int) (_ *source.Source, err error) {
			created, err = source.New(by, t, d, r, others)
			return created, err
		}); err != nil {
			return err
		}
		if err := tx.CheckUsage(ctx, by, limits, quota.Sources); err != nil {
			return err
		}
		out = s.seen(created)
		return tx.Jobs.Enqueue(ctx, refreshOf(created, by))
	})
	if err != nil {
		return Seen{}, err
	}
	return out, nil
}

// Reread reads a source's table if its mapping is about to be replaced by pairs. A headerRow of 0 means the current
// one. Nothing is stored.
func (s *Service) Reread(
	ctx context.Context, by identity.Actor, id source.ID, match revision.Match, pairs []source.Pair, headerRow int,
) (source.Reading, error) {
	src, err := s.get(ctx, by, id, source.See)
	if err != nil {
		return source.Reading{}, err
	}
	if err := src.MayMap(by, match); err != nil {
		return source.Reading{}, err
	}
	location := src.Location
	if headerRow != 0 {
		if location.Backend() != source.SheetBackend {
			return source.Reading{}, source.ErrNoHeaderRow
		}
		location.Sheet.HeaderRow = headerRow
	}
	r, err := s.read(ctx, by, location, columnsQuery(pairs))
	if err == nil {
		s.previewed(ctx, by, src.ID, r.Location)
	}
	return r, toFault(err)
}

// Map replaces a source's mapping, after Reread has read its table, and queues a refresh. The returned rows are the
// first ones with the mapping applied: values by field.
func (s *Service) Map(
	ctx context.Context, by identity.Actor, id source.ID, match revision.Match, pairs []source.Pair, r source.Reading,
) (Seen, []map[string]*string, error) {
	src, err := ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*source.Source, error) {
		if err := lockConnection(ctx, tx, by, r.Location.Connection); err != nil {
			return nil, err
		}
		src, err := tx.Sources.Update(ctx, by.Workspace, id, func(src *source.Source) error {
			t := s.typeOf(by.Org, src.Type)
			if t == nil {
				return source.ErrUnknownType
			}
			return src.Map(by, match, *t, pairs, r)
		})
		if err != nil {
			return nil, err
		}
		return src, tx.Jobs.Enqueue(ctx, refreshOf(src, by))
	})
	if err != nil {
		return Seen{}, nil, err
	}
	return s.seen(src), src.Mapped(r), nil
}

// Patch is a source change; nil leaves a value as it is.
type Patch struct {
	Name      *string
	ChangeKey *string // the field by which its rows are recognised in comparisons; empty: they are not compared
	Locale    *string // of a workbook's dates; empty: the org's locale
}

// Change changes a source. With another locale, it also queues a refresh. Requires the admin role, unless by owns it.
func (s *Service) Change(
	ctx context.Context, by identity.Actor, id source.ID, match revision.Match, p Patch,
) (out Seen, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		reread := false
		src, err := tx.Sources.Update(ctx, by.Workspace, id, func(src *source.Source) (err error) {
			reread, err = s.change(src, by, match, p)
			return err
		})
		if err != nil {
			return err
		}
		if out = s.seen(src); src.Paused != "" {
			return nil
		}
		if reread {
			if err := tx.Jobs.Enqueue(ctx, refreshOf(src, by)); err != nil {
				return err
			}
		}
		if p.ChangeKey == nil || *p.ChangeKey == "" {
			return nil
		}
		return tx.Jobs.Enqueue(ctx, job.New(by, source.CompareJob, string(id), by.At))
	})
	if err != nil {
		return Seen{}, err
	}
	return out, nil
}

// change applies p, and reports whether the source must be read again.
func (s *Service) change(src *source.Source, by identity.Actor, match revision.Match, p Patch) (reread bool,
	err error) {
	if p.Name != nil {
		if err := src.Rename(by, match, *p.Name); err != nil {
			return false, err
		}
		match = nil // it was checked
	}
	if p.ChangeKey != nil {
		if err := src.TrackChanges(by, match, *p.ChangeKey); err != nil {
			return false, err
		}
		match = nil
	}
	if p.Locale == nil {
		return false, nil
	}
	if reread, err = src.SetLocale(by, match, *p.Locale); err != nil || !reread || src.Paused != "" {
		return false, err
	}
	return true, src.Due(by, s.deps.Limits.Refresh)
}

// DetachSource removes a source and cancels its queued jobs in the same transaction. Requires the owner
// of the source or of the workspace. A running job is interrupted within half a second, and stores
// nothing.
func (s *Service) DetachSource(ctx context.Context, by identity.Actor, id source.ID, match revision.Match) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if _, err := tx.Sources.Update(ctx, by.Workspace, id,
			func(src *source.Source) error { return src.Detach(by, match) }); err != nil {
			return err
		}
		_, err := tx.Jobs.Cancel(ctx, by.Workspace, string(id))
		return err
	})
}
