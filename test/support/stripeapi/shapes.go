package stripeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	stripe "github.com/stripe/stripe-go/v85"
)

// shapes are stripe-go's types, by the names that their objects have.
var shapes = map[string]reflect.Type{
	"billing.meter":                reflect.TypeFor[stripe.BillingMeter](),
	"billing.meter_event":          reflect.TypeFor[stripe.BillingMeterEvent](),
	"billing_portal.session":       reflect.TypeFor[stripe.BillingPortalSession](),
	"charge":                       reflect.TypeFor[stripe.Charge](),
	"checkout.session":             reflect.TypeFor[stripe.CheckoutSession](),
	"coupon":                       reflect.TypeFor[stripe.Coupon](),
	"credit_note":                  reflect.TypeFor[stripe.CreditNote](),
	"customer":                     reflect.TypeFor[stripe.Customer](),
	"customer_balance_transaction": reflect.TypeFor[stripe.CustomerBalanceTransaction](),
	"discount":                     reflect.TypeFor[stripe.Discount](),
	"dispute":                      reflect.TypeFor[stripe.Dispute](),
	"invoice":                      reflect.TypeFor[stripe.Invoice](),
	"invoice_payment":              reflect.TypeFor[stripe.InvoicePayment](),
	"invoiceitem":                  reflect.TypeFor[stripe.InvoiceItem](),
	"line_item":                    reflect.TypeFor[stripe.InvoiceLineItem](),
	"list":                         reflect.TypeFor[page](),
	"payment_intent":               reflect.TypeFor[stripe.PaymentIntent](),
	"payment_method":               reflect.TypeFor[stripe.PaymentMethod](),
	"price":                        reflect.TypeFor[stripe.Price](),
	"promotion_code":               reflect.TypeFor[stripe.PromotionCode](),
	"refund":                       reflect.TypeFor[stripe.Refund](),
	"setup_intent":                 reflect.TypeFor[stripe.SetupIntent](),
	"subscription":                 reflect.TypeFor[stripe.Subscription](),
	"subscription_item":            reflect.TypeFor[stripe.SubscriptionItem](),
	"subscription_schedule":        reflect.TypeFor[stripe.SubscriptionSchedule](),
	"tax_id":                       reflect.TypeFor[stripe.TaxID](),
	"tax_rate":                     reflect.TypeFor[stripe.TaxRate](),
}

// page is a list of objects (https://docs.stripe.com/api/pagination).
type page struct {
	Object  string `json:"object"`
	URL     string `json:"url"`
	HasMore bool   `json:"has_more"`
	Data    []any  `json:"data"`
}

// strangers returns what a value has that Stripe's objects do not have. kind is its type if it does not name one
// itself.
func strangers(at string, value any, kind reflect.Type) (all []string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			all = append(all, strangers(at, one, elementOf(kind))...)
		}
	case map[string]any:
		if name, isObject := v["object"].(string); isObject {
			if kind = shapes[name]; kind == nil {
				return []string{at + " is an unknown " + name}
			}
		}
		if kind = elementOf(kind); kind == nil || kind.Kind() != reflect.Struct {
			return nil // such as metadata
		}
		for name, member := range v {
			field, exists := memberOf(kind, name)
			if !exists {
				all = append(all, at+"."+name)
				continue
			}
			all = append(all, strangers(at+"."+name, member, field)...)
		}
	}
	return all
}

// elementOf returns what a pointer or a list holds; other types as they are.
func elementOf(kind reflect.Type) reflect.Type {
	for kind != nil && (kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice) {
		kind = kind.Elem()
	}
	return kind
}

// memberOf returns the type of a struct's member in JSON.
func memberOf(kind reflect.Type, name string) (reflect.Type, bool) {
	for _, f := range reflect.VisibleFields(kind) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Type, true
		}
	}
	return nil, false
}

// recorder keeps a response that it passes on.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	r.body.Write(b)
	return r.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// check fails the test for what Stripe's response to a call would not have. Responses that a fault has cut off are not
// looked at.
func (s *Server) check(call string, r *recorder) {
	var body any
	if r.status != http.StatusOK || json.Unmarshal(r.body.Bytes(), &body) != nil {
		return
	}
	if all := strangers("", body, nil); len(all) > 0 {
		s.t.Errorf("the response to %s has what stripe-go does not know: %s", call, fmt.Sprint(all))
	}
}
