package sources_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// expectValidation expects changes of a validation.
func (s *env) expectValidation(v *source.Validation) {
	s.validations.EXPECT().UpdateValidation(gomock.Any(), acme, source.ID("src"), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ source.ID, change func(*source.Validation) error) (
			*source.Validation, error) {
			lost := *v
			_ = change(&lost)
			return v, change(v)
		})
	s.validations.EXPECT().Validation(gomock.Any(), acme, source.ID("src")).AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, source.ID) (*source.Validation, error) {
			c := *v
			return &c, nil
		})
}

// requested returns a validation that is queued.
func requested(t *testing.T, src *source.Source) *source.Validation {
	t.Helper()
	v := new(source.Validation)
	_, err := v.Request(owner, src, &guests, time.Minute)
	require.NoError(t, err)
	return v
}

func (s *env) expectRows(rows [][]*string, err error) {
	s.sheets.EXPECT().Rows(gomock.Any(), acme, gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ ports.SheetTarget, q source.RowsQuery,
			handle func(column.Batch) error) error {
			if err != nil {
				return err
			}
			b := column.Batch{Version: "1"}
			for i, row := range rows {
				var cells []*string
				for _, name := range q.Columns {
					cells = append(cells, row[slices.Index([]string{"No", "Name", "Age"}, name)])
				}
				b.Sample, b.Numbers = append(b.Sample, cells), append(b.Numbers, i+2)
			}
			b.Rows = column.RowsOf(b.Sample)
			return handle(b)
		})
}

func texts(cells ...string) (row []*string) {
	for _, c := range cells {
		if c == "" {
			row = append(row, nil)
			continue
		}
		row = append(row, &c)
	}
	return row
}

func guestSource(t *testing.T) *source.Source {
	t.Helper()
	src := stored(t, sheetAt)
	src.Mapping = []source.Pair{{Field: "id", Column: "No"}, {Field: "name", Column: "Name"},
		{Field: "age", Column: "Age"}}
	return src
}

var guestRows = [][]*string{texts("1", "Ada", "36"), texts("2", "", "x"), texts("1", "Grace", "secret"),
	texts("1", "", "")}

func TestAValidationIsQueued(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	src := guestSource(t)
	s.expectAtomic()
	s.expectLock(src)
	v := new(source.Validation)
	s.expectValidation(v)
	s.jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, j job.Job) error {
		if j.Kind != source.ValidateJob || j.Subject != "src" || !j.Due.Equal(now) {
			t.Errorf("%+v", j)
		}
		return nil
	})
	got, err := s.Validate(s.ctx, owner, "src")
	require.NoError(t, err)
	if got.State != source.ValidationQueued {
		t.Errorf("%+v", got)
	}
	s.expectAtomic()
	s.expectLock(src)
	_, err = s.Validate(s.ctx, viewer, "src")
	require.ErrorIs(t, err, source.ErrForbidden)
}

func TestAValidationCountsWhatFails(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	src := guestSource(t)
	v := requested(t, src)
	s.expectGet(src)
	s.expectValidation(v)
	s.expectLiveWorkspace()
	s.expectRows(guestRows, nil)
	require.NoError(t, s.RunValidation(s.ctx, system, "src"))
	if v.State != source.ValidationDone || v.Rows != 4 || v.Failing != 3 || !v.Complete {
		t.Errorf("%+v", v)
	}
	id, name, age := v.Fields[0], v.Fields[1], v.Fields[2]
	if id.Counts[column.Duplicate] != 2 || id.Empty != 0 || !slices.Equal(id.First, []source.FailedValue{
		{Row: 4, Code: column.Duplicate, Class: column.Integer}, {Row: 5, Code: column.Duplicate, Class: column.Integer}}) {
		t.Errorf("id: %+v", id)
	}
	if name.Empty != 2 || len(name.Counts) != 0 {
		t.Errorf("name: %+v", name)
	}
	if age.Empty != 1 || age.Counts[column.WrongType] != 2 || !slices.Equal(age.First, []source.FailedValue{
		{Row: 3, Code: column.WrongType, Class: column.String}, {Row: 4, Code: column.WrongType, Class: column.String}}) {
		t.Errorf("age: %+v", age)
	}
	if len(s.noted) != 0 {
		t.Errorf("noted: %+v", s.noted)
	}
	require.ErrorIs(t, s.RunValidation(s.ctx, system, "src"), nil) // it has ended: nothing is read
}

func TestARequiredValueWithoutATextIsEmptyAndMissing(t *testing.T) {
	s := newEnv(t)
	requiredKind := guests
	requiredKind.Fields = slices.Clone(guests.Fields)
	requiredKind.Fields[1].Required = true
	s.types = []source.Type{requiredKind}
	src := guestSource(t)
	v := requested(t, src)
	s.expectGet(src)
	s.expectValidation(v)
	s.expectLiveWorkspace()
	s.expectRows([][]*string{texts("1", "Ada", "36"), texts("2", "", "37")}, nil)
	require.NoError(t, s.RunValidation(s.ctx, system, "src"))
	if name := v.Fields[1]; v.Failing != 1 || name.Empty != 1 || name.Counts[column.Missing] != 1 ||
		!slices.Equal(name.First, []source.FailedValue{{Row: 3, Code: column.Missing}}) {
		t.Errorf("%+v", v)
	}
}

func TestAValidationThatWasRequestedAgainReadsNothing(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	src := guestSource(t)
	old, second := requested(t, src), requested(t, src)
	second.RequestedAt = second.RequestedAt.Add(time.Second)
	s.expectGet(src)
	s.expectLiveWorkspace()
	s.validations.EXPECT().Validation(gomock.Any(), acme, source.ID("src")).Return(old, nil)
	s.validations.EXPECT().UpdateValidation(gomock.Any(), acme, source.ID("src"), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ source.ID, change func(*source.Validation) error) (
			*source.Validation, error) {
			return second, change(second)
		})
	require.NoError(t, s.RunValidation(s.ctx, system, "src"))
	if second.State != source.ValidationQueued {
		t.Errorf("%+v", second)
	}
}

func TestAValidationShowsAtMostTwentyRows(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	src := guestSource(t)
	v := requested(t, src)
	s.expectGet(src)
	s.expectValidation(v)
	s.expectLiveWorkspace()
	var multiple [][]*string
	for range 150 { // more than the org allows
		multiple = append(multiple, texts("", "", "x"))
	}
	s.expectRows(multiple, nil)
	require.NoError(t, s.RunValidation(s.ctx, system, "src"))
	if v.Rows != 100 || v.Complete || len(v.Fields[2].First) != source.ShownFailures ||
		v.Fields[2].Counts[column.WrongType] != 100 {
		t.Errorf("%+v", v)
	}
}

func TestAValidationSaysWhyItFailed(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code string
		want error
	}{
		"the sheet is not shared": {source.ErrSheetNotShared, "sheet_not_shared", nil},
		"the warehouse is away":   {connection.HostUnreachable, "upstream_failed", nil},
		"the store is away":       {errOutage, "", errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.types = []source.Type{guests}
			src := guestSource(t)
			v := requested(t, src)
			s.expectGet(src)
			s.expectValidation(v)
			s.expectLiveWorkspace()
			s.expectRows(nil, c.err)
			require.ErrorIs(t, s.RunValidation(s.ctx, system, "src"), c.want)
			if v.Failure != c.code || v.HasEnded() != (c.code != "") {
				t.Errorf("%+v", v)
			}
		})
	}
	t.Run("there is no room", func(t *testing.T) {
		s := newEnv(t)
		s.types = []source.Type{guests}
		src := guestSource(t)
		v := requested(t, src)
		s.expectGet(src)
		s.expectValidation(v)
		s.expectLiveWorkspace()
		s.expectRows(nil, connection.ErrTooManyReads)
		require.ErrorIs(t, s.RunValidation(s.ctx, system, "src"), connection.ErrTooManyReads)
		if v.HasEnded() {
			t.Errorf("%+v", v)
		}
	})
}

func TestOnlyRowsThatFailAreGivenAsTheSourceHasThem(t *testing.T) {
	s := newEnv(t)
	s.types = []source.Type{guests}
	s.expectGet(guestSource(t))
	s.expectRows(guestRows, nil)
	if got := s.readAll(sources.RowsQuery{OnInvalid: sources.OnlyInvalid, Distinct: true}); len(got) != 3 ||
		got[0][:11] != "[2 <nil> x]" || got[1][:16] != "[1 Grace secret]" {
		t.Errorf("%q", got)
	}
}
