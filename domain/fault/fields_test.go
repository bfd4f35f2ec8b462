package fault_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestFields(t *testing.T) {
	var errs fault.Fields
	if err := errs.Err(); err != nil {
		t.Fatalf("no fields are an error: %v", err)
	}
	errs.AddCharacters("/ok", "ä")
	errs.AddCharacters("/nul", "a\x00")
	errs.AddCharacters("/bytes", "\xff")
	if len(errs) != 2 || errs[0].Pointer != "/nul" || errs[1].Code != "invalid_characters" ||
		!errors.Is(errs.Err(), fault.ErrInvalid) {
		t.Errorf("fields = %+v", errs)
	}
	for range 1000 {
		errs.Add("/x", "too_long", "Too long.")
	}
	assert.Equal(t, "fields", len(errs), 500)
	f, ok := errors.AsType[*fault.Error](fault.InField("/a", "required", "Give it."))
	if want := (fault.Field{Pointer: "/a", Code: "required", Detail: "Give it."}); !ok || len(f.Fields) != 1 ||
		f.Fields[0] != want {
		t.Errorf("InField = %+v", f)
	}
}
