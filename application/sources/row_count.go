package sources

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
)

// Count determines how rows are counted.
type Count string

// The choices; an empty Count is none.
const (
	EstimateCount Count = "estimate" // as the database estimated at the last refresh, without reading anything
	ExactCount    Count = "exact"    // by the database, or by reading them
)

// count returns the number of rows of all pages of r's query. It is nil if it is unknown: an estimate of rows that a
// filter or a change selects, and an exact number beyond the org's limits. r has read one page.
func (s *Service) count(
	ctx context.Context, by identity.Actor, src *source.Source, offer Offer, r *rowReader,
) (*int64, error) {
	q := r.query
	isAll := len(q.Filters) == 0 && q.Since == "" && q.OnInvalid != SkipInvalid
	switch {
	case q.Count == EstimateCount && isAll && src.RowEstimate >= 0:
		return &src.RowEstimate, nil
	case q.Count != ExactCount:
		return nil, nil
	case q.After == "" && !r.more && r.sortedBy() != SortedByAtrium:
		emitted := int64(r.emitted)
		return &emitted, nil
	}
	q.Limit, q.Pages, q.After, q.Sort, q.IDs, q.Removed = 0, false, "", "", false, false
	if q.OnInvalid != SkipInvalid {
		q.Fields = []string{r.fields[0].Key}
	}
	counter, err := newRowReader(src, s.typeOf(by.Org, src.Type), q, r.shape)
	if err != nil {
		return nil, err
	}
	if q.Since != "" {
		if counter.since, err = s.newSince(ctx, by, src, q.Since); err != nil {
			return nil, err
		}
	}
	counter.ctx, counter.isAdmitted, counter.isCount, counter.keyHash = ctx, true, isAll, r.keyHash
	counter.maxRows, counter.bytes = offer.Rows.Rows, offer.Rows.Bytes
	counter.begin, counter.each = func() error { return nil }, func(Row) error { return nil }
	if err := s.readInto(ctx, by, src, offer, counter); err != nil {
		return nil, counter.fault(err)
	}
	if counter.total != nil || counter.more {
		return counter.total, nil
	}
	emitted := int64(counter.emitted)
	return &emitted, nil
}
