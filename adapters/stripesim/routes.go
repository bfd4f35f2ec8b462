package stripesim

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// route is a call that the simulator knows.
type route struct {
	parameters string // that the call accepts, by the first part of their names
	call       string // the name of the gateway's call that this request is about; "" if it only serves others
	handle     func(*account, form, *http.Request) any
}

var routes = map[string]route{
	"POST /v1/customers":     {"name email metadata", "create customer", (*account).createCustomer},
	"GET /v1/customers":      {"email created limit starting_after", "", (*account).listCustomers},
	"GET /v1/customers/{id}": {"", "", (*account).readCustomer},
	"POST /v1/customers/{id}": {
		"invoice_settings name email address metadata tax",
		"update customer", (*account).updateCustomer,
	},
	"GET /v1/customers/{id}/tax_ids":                  {"limit starting_after", "", (*account).listTaxIDs},
	"POST /v1/customers/{id}/tax_ids":                 {"type value", "update customer", (*account).createTaxID},
	"DELETE /v1/customers/{id}/tax_ids/{tax}":         {"", "", (*account).deleteTaxID},
	"GET /v1/customers/{id}/payment_methods":          {"limit starting_after", "wallet", (*account).listMethods},
	"GET /v1/customers/{id}/payment_methods/{method}": {"", "", (*account).readMethod},
	"GET /v1/payment_methods/{id}":                    {"", "", (*account).readOwnMethod},
	"POST /v1/payment_methods/{id}/detach":            {"", "detach", (*account).detach},
	"POST /v1/setup_intents": {
		"customer usage metadata automatic_payment_methods",
		"create setup intent", (*account).createSetupIntent,
	},
	"GET /v1/setup_intents":              {"customer limit starting_after", "", (*account).listSetupIntents},
	"GET /v1/setup_intents/{id}":         {"", "", (*account).readSetupIntent},
	"POST /v1/setup_intents/{id}/cancel": {"", "", (*account).cancelSetupIntent},
	"GET /v1/payment_intents/{id}":       {"", "", (*account).readPaymentIntent},
	"GET /v1/prices/{id}":                {"expand", "", (*account).readPrice},
	"POST /v1/subscriptions": {
		"customer items payment_behavior metadata trial_period_days trial_settings discounts automatic_tax " +
			"collection_method days_until_due currency expand",
		"subscribe", (*account).subscribe,
	},
	"POST /v1/subscriptions/{id}/resume": {"billing_cycle_anchor", "amend", (*account).resume},
	"GET /v1/subscriptions": {
		"customer status limit starting_after expand",
		"subscriptions", (*account).listSubscriptions,
	},
	"GET /v1/subscriptions/{id}": {"expand", "", (*account).readSubscription},
	"POST /v1/subscriptions/{id}": {
		"items payment_behavior proration_behavior proration_date trial_end cancel_at_period_end " +
			"cancel_at metadata discounts default_payment_method pause_collection billing_cycle_anchor " +
			"cancellation_details expand",
		"amend", (*account).updateSubscription,
	},
	"DELETE /v1/subscriptions/{id}":   {"cancellation_details invoice_now", "cancel", (*account).cancelSubscription},
	"POST /v1/subscription_schedules": {"from_subscription", "amend", (*account).createSchedule},
	"POST /v1/subscription_schedules/{id}": {
		"end_behavior proration_behavior metadata phases",
		"", (*account).updateSchedule,
	},
	"POST /v1/subscription_schedules/{id}/release": {"", "amend", (*account).releaseSchedule},
	"POST /v1/billing_portal/sessions":             {"customer return_url", "portal", (*account).createPortal},
	"POST /v1/checkout/sessions": {
		"mode customer line_items success_url cancel_url subscription_data automatic_tax customer_update " +
			"allow_promotion_codes billing_address_collection tax_id_collection payment_method_collection " +
			"locale currency invoice_creation",
		"checkout", (*account).createCheckout,
	},
	"GET /v1/checkout/sessions":              {"customer status limit starting_after", "", (*account).listCheckouts},
	"GET /v1/checkout/sessions/{id}":         {"", "", (*account).readCheckout},
	"POST /v1/checkout/sessions/{id}/expire": {"", "", (*account).expireCheckout},
	"GET /v1/billing/meters/{id}":            {"", "", (*account).readMeter},
	"POST /v1/billing/meter_events": {
		"event_name identifier timestamp payload",
		"report usage", (*account).reportUsage,
	},
	"GET /v1/invoices": {
		"customer subscription status limit starting_after expand",
		"invoices", (*account).listInvoices,
	},
	"GET /v1/charges":           {"customer limit starting_after", "", (*account).listCharges},
	"GET /v1/charges/{id}":      {"", "charge", (*account).readCharge},
	"GET /v1/disputes":          {"charge limit starting_after", "", (*account).listDisputes},
	"GET /v1/disputes/{id}":     {"", "", (*account).readDispute},
	"GET /v1/refunds/{id}":      {"", "", (*account).readRefund},
	"GET /v1/credit_notes/{id}": {"", "", (*account).readCreditNote},
	"GET /v1/promotion_codes": {
		"code active limit starting_after expand",
		"promotion", (*account).listPromotions,
	},
	"GET /v1/coupons/{id}": {"", "", (*account).readCoupon},
	"POST /v1/coupons": {
		"id name percent_off duration duration_in_months",
		"free", (*account).createCoupon,
	},
	"POST /v1/customers/{id}/balance_transactions": {"amount currency description", "grant", (*account).grant},
	"GET /v1/invoices/{id}":                        {"expand", "", (*account).readInvoice},
	"POST /v1/invoices": {
		"customer currency auto_advance pending_invoice_items_behavior default_payment_method automatic_tax " +
			"metadata expand",
		"buy", (*account).createInvoice,
	},
	"POST /v1/invoiceitems":       {"customer invoice pricing quantity", "", (*account).createInvoiceItem},
	"POST /v1/invoices/{id}/void": {"", "", (*account).voidInvoice},
	"POST /v1/invoices/create_preview": {
		"customer subscription subscription_details discounts schedule schedule_details",
		"preview", (*account).previewInvoice,
	},
	"POST /v1/invoices/{id}/finalize": {"", "pay", (*account).finalizeInvoice},
	"POST /v1/invoices/{id}/pay":      {"off_session expand", "pay", (*account).payInvoice},
}

// mux finds a call's handler.
var mux = newMux()

func newMux() *http.ServeMux {
	m := http.NewServeMux()
	for pattern, entry := range routes {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if target, isKnown := w.(*result); isKnown {
				target.out = entry.handle(target.account, form{r.Form}, r)
			}
		})
	}
	return m
}

// Pattern returns a call's method, and its path without identifiers; "" if the simulator does not know it.
func Pattern(r *http.Request) string {
	_, pattern := mux.Handler(r)
	return pattern
}

// form are a call's parameters.
type form struct{ url.Values }

func (f form) number(name string) int64 {
	n, _ := strconv.ParseInt(f.Get(name), 10, 64)
	return n
}

// members returns the parameters of the form prefix[name].
func (f form) members(prefix string) map[string]string {
	out := map[string]string{}
	for name, values := range f.Values {
		if inner, isKnown := strings.CutPrefix(name, prefix+"["); isKnown {
			out[strings.TrimSuffix(inner, "]")] = values[0]
		}
	}
	return out
}

// expanded returns the fields to expand, without the prefix that lists have.
func (f form) expanded() []string {
	var all []string
	for name, values := range f.Values {
		if strings.HasPrefix(name, "expand[") {
			for _, v := range values {
				all = append(all, strings.TrimPrefix(v, "data."))
			}
		}
	}
	return all
}

// find returns the first object that matches, or nil.
func find[T any](all []*T, matches func(*T) bool) *T {
	if n := slices.IndexFunc(all, matches); n >= 0 {
		return all[n]
	}
	return nil
}

// display returns an object as show shows it, or that it does not exist if it is nil.
func display[T any](one *T, show func(*T) map[string]any) any {
	if one == nil {
		return missing(404, "id")
	}
	return show(one)
}

// list returns a page of objects, which must be in order.
func list[T any](f form, path string, all []T, show func(T) map[string]any) any {
	limit := int(cmp.Or(f.number("limit"), 10))
	cursor := f.Get("starting_after")
	page := []map[string]any{}
	hasMore := false
	for _, one := range all {
		view := show(one)
		switch {
		case cursor != "":
			if view["id"] == cursor {
				cursor = ""
			}
		case len(page) == limit:
			hasMore = true
		default:
			page = append(page, view)
		}
	}
	return map[string]any{"object": "list", "url": path, "has_more": hasMore, "data": page}
}

// newest returns the matching objects, newest first, from a slice in order of creation.
func newest[T any](all []T, matches func(T) bool) []T {
	out := []T{}
	for _, one := range slices.Backward(all) {
		if matches(one) {
			out = append(out, one)
		}
	}
	return out
}
