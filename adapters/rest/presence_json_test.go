package rest

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/presence"
)

// filledView returns a view of which every field is set, so that a new one is set too.
func filledView(t *testing.T, text string) (v presence.View) {
	t.Helper()
	var fill func(reflect.Value)
	fill = func(v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[time.Time]():
			v.Set(reflect.ValueOf(time.Date(2026, 11, 26, 7, 8, 9, 123456789, time.UTC)))
		case v.Kind() == reflect.String:
			v.SetString(text)
		case v.Kind() == reflect.Int || v.Kind() == reflect.Int64:
			v.SetInt(-12)
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		case v.Kind() == reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		default:
			t.Fatalf("no value for a %s", v.Type())
		}
	}
	fill(reflect.ValueOf(&v).Elem())
	return v
}

func TestAPresenceEncodesItselfAsTheContractsTypeDoes(t *testing.T) {
	same := func(t *testing.T, v presence.View, heartbeatAfter int64) {
		t.Helper()
		body := toPresence(&v)
		body.HeartbeatAfterSeconds = int(heartbeatAfter)
		want, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		got := (&presenceBody{v, heartbeatAfter}).AppendJSON(nil)
		var read, wanted any
		if err := json.Unmarshal(got, &read); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		if err := json.Unmarshal(want, &wanted); err != nil || !reflect.DeepEqual(read, wanted) {
			t.Errorf("%v\n%s\n%s", err, got, want)
		}
	}
	for access := presence.None; access <= presence.Own; access++ {
		for _, text := range []string{"", "Tea", "<b>&\u2028\"\\/\n\t\x00\x7f", "é🍵"} {
			v := filledView(t, text)
			v.Access = access
			same(t, v, 0)
			same(t, v, 30)
			for i := range reflect.TypeFor[presence.View]().NumField() {
				without := v
				reflect.ValueOf(&without).Elem().Field(i).SetZero()
				same(t, without, 0)
			}
			same(t, presence.View{Access: access, Devices: []presence.Device{}}, 0)
		}
	}
}
