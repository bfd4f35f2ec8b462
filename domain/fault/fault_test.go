package fault_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestJoin(t *testing.T) {
	name := fault.ErrInvalid.WithFields(fault.Field{Pointer: "/name", Code: "too_long"})
	text := (&fault.Error{Kind: fault.Invalid, Code: "unsupported_syntax"}).WithFields(fault.Field{Pointer: "/text",
		Code: "unsupported_syntax"})
	solo := &fault.Error{Kind: fault.Conflict, Code: "taken"}
	for label, tt := range map[string]struct {
		checks []error
		want   error
	}{
		"nothing":            {[]error{nil, nil}, nil},
		"the only one stays": {[]error{nil, text}, text},
		"two become one of both": {
			[]error{name, nil, text}, fault.ErrInvalid.WithFields(name.Fields[0], text.Fields[0]),
		},
		"what is not about fields": {[]error{name, solo}, solo},
		"an unexpected error, too": {[]error{name, errors.ErrUnsupported}, errors.ErrUnsupported},
	} {
		t.Run(label, func(t *testing.T) {
			if got := fault.Join(tt.checks...); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Join = %#v, want %#v", got, tt.want)
			}
		})
	}
}

func TestError(t *testing.T) {
	item := &fault.Error{Kind: fault.NotFound, Code: "gone", Detail: "It is gone."}
	field := fault.Field{Pointer: "/name", Code: "too_long", Detail: "Too long."}
	t.Run("an error with particulars still is its sentinel", func(t *testing.T) {
		if extra := fmt.Errorf("while at it: %w", item.WithFields(field)); !errors.Is(extra, item) {
			t.Error("it is not")
		}
	})
	t.Run("another code is another error, whatever else agrees", func(t *testing.T) {
		if errors.Is(&fault.Error{Kind: fault.NotFound, Code: "lost", Detail: "It is gone."}, item) ||
			errors.Is(errors.New("It is gone."), item) {
			t.Error("it is the same")
		}
	})
	t.Run("With leaves the sentinel as it is", func(t *testing.T) {
		extra := item.WithFields(field)
		if len(item.Fields) != 0 || len(extra.Fields) != 1 || extra.Fields[0] != field || extra.Kind != item.Kind ||
			extra.Detail != item.Detail {
			t.Errorf("sentinel %+v, copy %+v", item, extra)
		}
	})
	t.Run("its text is its detail", func(t *testing.T) {
		assert.Equal(t, "Error", item.Error(), "It is gone.")
	})
	t.Run("the zero kind is no foreseen failure", func(t *testing.T) {
		if fault.Malformed == 0 {
			t.Error("a forgotten kind reads as malformed")
		}
	})
}

func TestInvalidFields(t *testing.T) {
	t.Run("no fields, no error", func(t *testing.T) {
		if err := fault.InvalidFields(nil); err != nil {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("an error names all fields", func(t *testing.T) {
		fields := []fault.Field{{Pointer: "/a"}, {Pointer: "/b"}}
		f, ok := errors.AsType[*fault.Error](fault.InvalidFields(fields))
		if !ok || f.Kind != fault.Invalid || !errors.Is(f, fault.ErrInvalid) || len(f.Fields) != 2 {
			t.Errorf("error = %+v", f)
		}
		if len(fault.ErrInvalid.Fields) != 0 {
			t.Error("the sentinel was changed")
		}
	})
}
