package payment

import "strings"

// currencies are the codes of https://docs.stripe.com/currencies, and some that Stripe's libraries still name.
var currencies = set(`
	aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp byn bzd cad cdf chf clp
	cny cop crc cve czk djf dkk dop dzd eek egp etb eur fjd fkp gbp gel ghs gip gmd gnf gtq gyd hkd hnl hrk htg huf
	idr ils inr isk jmd jod jpy kes kgs khr kmf krw kwd kyd kzt lak lbp lkr lrd lsl ltl lvl mad mdl mga mkd mmk mnt
	mop mro mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar
	sbd scr sek sgd shp sle sll sos srd std svc szl thb tjs tnd top try ttd twd tzs uah ugx usd uyu uzs vef vnd vuv
	wst xaf xcd xcg xof xpf yer zar zmw`)

// Two of Stripe's tables of minor units: https://docs.stripe.com/currencies#zero-decimal and #three-decimal. Amounts of
// ISK and UGX have two decimals that are always 00 (#special-cases).
var (
	withoutDecimals   = set("bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf")
	withThreeDecimals = set("bhd jod kwd omr tnd")
)

func set(list string) map[string]bool {
	codes := map[string]bool{}
	for code := range strings.FieldsSeq(list) {
		codes[code] = true
	}
	return codes
}

// KnowsCurrency reports whether a gateway can charge in a currency.
func KnowsCurrency(code string) bool { return currencies[code] }

// Exponent returns how many decimals of the currency the amount has: 2 for usd, 0 for jpy. It is the gateways' rule,
// which for some currencies differs from what people write.
func (m Money) Exponent() int {
	switch {
	case withoutDecimals[m.Currency]:
		return 0
	case withThreeDecimals[m.Currency]:
		return 3
	}
	return 2
}

// Rounded returns m with the nearest amount that gateways charge. In a currency with three decimals, the last one is
// always 0 (https://docs.stripe.com/currencies#three-decimal). A half is rounded up.
func (m Money) Rounded() Money {
	if withThreeDecimals[m.Currency] {
		m.Amount = 10 * Prorate(m.Amount, 1, 10)
	}
	return m
}
