package seal

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// corpus makes texts with planted secrets and texts that only look like it. It is drawn anew for each seed, so that
// figures come from texts nobody tuned for.
type corpus struct{ r *rand.Rand }

func newCorpus(seed uint64) *corpus { return &corpus{rand.New(rand.NewPCG(seed, seed*7+1))} }

// planted is a text with one secret in it.
type planted struct{ text, secret, kind string }

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	nums   = "0123456789"
	alnum  = lower + upper + nums
	wordCh = alnum + "-_"
	hexCh  = "0123456789abcdef"
)

func (c *corpus) str(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[c.r.IntN(len(set))]
	}
	return string(b)
}

func pick[T any](c *corpus, list ...T) T { return list[c.r.IntN(len(list))] }

// password has at least three classes, as sites ask for.
func (c *corpus) password() string {
	n := 8 + c.r.IntN(13)
	for {
		p := c.str(alnum+"!@#$%^&*_-+?;,|~<", n)
		if strings.ContainsAny(p, nums) && strings.ContainsAny(p, lower) && strings.ContainsAny(p, upper) && !strings.ContainsAny(p[n-1:], "?!-+_") && !strings.ContainsAny(p[n-1:], ",;|<&") && !strings.ContainsAny(p[:1], "$%-_<,;|") {
			return p
		}
	}
}

func (c *corpus) token() string {
	for {
		s := c.str(alnum, 24+c.r.IntN(24))
		if strings.ContainsAny(s, nums) {
			return s
		}
	}
}

func (c *corpus) card() string {
	prefix := pick(c, "4", "51", "2221", "37", "6011")
	n := 16
	if prefix == "37" {
		n = 15
	}
	d := []byte(prefix + c.str(nums, n-len(prefix)-1) + "0")
	for i := range 10 {
		d[n-1] = '0' + byte(i)
		v := make([]byte, n)
		for j := range d {
			v[j] = d[j] - '0'
		}
		if luhn(v) {
			break
		}
	}
	s := string(d)
	if n == 16 && c.r.IntN(2) == 0 {
		sep := pick(c, " ", "-")
		s = s[:4] + sep + s[4:8] + sep + s[8:12] + sep + s[12:]
	}
	return s
}

func (c *corpus) jwt() string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc([]byte(`{"sub":"`+c.str(nums, 10)+`","iat":1516239022}`)) + "." + c.str(wordCh, 43)
}

// positives gives n texts, each with one secret.
func (c *corpus) positives(n int) []planted {
	out := make([]planted, 0, n)
	for len(out) < n {
		k := len(out) % 24
		var p planted
		sentence := func(format string, secret, kind string) {
			p = planted{fmt.Sprintf(format, secret), secret, kind}
		}
		switch k {
		case 0:
			sentence("Your new password is %s", c.password(), "password")
		case 1:
			sentence("Password: %s\nPlease keep it safe.", c.password(), "password")
		case 2:
			sentence("export DB_PASSWORD=%s", c.password(), "password")
		case 3:
			sentence(`{"user":"ann","password":"%s","role":"admin"}`, c.password(), "password")
		case 4:
			sentence(pick(c, "Ihr Passwort lautet %s", "Mot de passe : %s", "Contraseña: %s", "Пароль: %s", "密码：%s", "パスワードは%s", "비밀번호: %s", "Hasło: %s", "Senha: %s", "Kennwort: %s"), c.password(), "password")
		case 5:
			body := c.str(wordCh, 80)
			sentence("Your API key: %s", "sk-ant-api03-"+body+"AA", "api-key")
		case 6:
			sentence("remote: use token %s to push", pick(c, "ghp_", "gho_", "ghs_", "ghr_")+c.str(alnum, 36), "token")
		case 7:
			sentence("aws_access_key_id = %s", "AKIA"+c.str(upper+"234567", 16), "api-key")
		case 8:
			sentence("aws_secret_access_key = %s", c.str(alnum+"/+", 40), "api-key")
		case 9:
			sentence("STRIPE=%s", pick(c, "sk_live_", "rk_live_", "sk_test_")+c.str(alnum, 24), "api-key")
		case 10:
			sentence("xoxb: %s", "xoxb-"+c.str(nums, 12)+"-"+c.str(nums, 12)+"-"+c.str(alnum, 24), "token")
		case 11:
			sentence("maps key %s in the page", "AIza"+c.str(wordCh, 34)+c.str(alnum, 1), "api-key")
		case 12:
			sentence("Authorization: Bearer %s", c.jwt(), "token")
		case 13:
			sentence("Authorization: Bearer %s", c.token(), "token")
		case 14:
			sentence("Card number %s, valid thru 09/29", c.card(), "card")
		case 15:
			sentence("The token is somewhere here %s and there", c.token(), "token")
		case 16:
			sentence("-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----", c.str(alnum+"+/", 64)+"\n"+c.str(alnum+"+/", 64), "private-key")
		case 17:
			secret := c.password()
			secret = strings.NewReplacer("@", "x", "<", "u", "/", "y", "#", "z", "?", "w", ":", "v").Replace(secret)
			sentence("postgres://app:%s@db.example.com:5432/main", secret, "password")
		case 18:
			sentence("Your verification code is %s", c.str(nums, 6), "code")
		case 19:
			sentence("PIN: %s", c.str(nums, 4), "pin")
		case 20:
			sentence("CVV: %s", c.str(nums, 3), "card-code")
		case 21:
			sentence("client_secret=%s&grant_type=x", c.str(wordCh, 39)+c.str(nums, 1), "secret")
		case 22:
			sentence("https://api.example.com/v1?api_key=%s&page=2", c.str(hexCh, 32), "api-key")
		case 23:
			sentence("Set-Cookie: %s", "sid="+c.token()+"; Path=/; HttpOnly", "cookie")
		}
		out = append(out, p)
	}
	return out
}

var englishWords = strings.Fields(`about above access account across action active actual address after again agent album alert align allow almost amount animal answer apple area around article
author away back balance banner base basic beauty become before begin believe below benefit better between beyond border bottom branch bring browser budget build business button cache calendar camera
cancel capital card carry category center central chance change channel chapter charge check children choice circle city class client close cloud code collect color column comment common company compare
complete computer concept content context continue control corner correct country course create credit current custom daily data date decide default degree delete deliver demand design desktop detail
device dialog differ digital direct discover display document domain double download draft drive early economy edit editor effect electric element email employee enable energy engine english enough enter
entire entry error event every example except exchange expect explain express extend factor family feature federal field figure file filter final finance finger finish first flight floor focus follow
footer force foreign form format forward found frame free friend front full function future gallery garden general global goal government great green ground group grow guide handle happen header health
heart heavy height help history holiday home hospital hotel hour house human image impact important improve include increase index industry inside install instead interest internal interview invoice issue
item join journal kitchen label language large layout leader learn leave legal lesson level library light limit line link list listen local location logic machine main major manage manager market master
match material matter media medical meeting member memory menu message method middle million minute mobile model modern modify moment money month morning mother motion mount move movie music name nation
native nature network never news night north note notice number object offer office online open option order original other output outside owner package page panel paper parent park part party past path
pattern payment people percent perfect period person phone photo picture piece place plan plant player please point policy popular portal position possible post power present press price print private
problem process product profile program project property protect provide public purchase purpose quality quarter question quick radio range rate reach read ready reason receive recent record reduce region
release remote remove render repeat replace report request require research resource response rest result return review right river road room round route rule safe sale sample save scale scene schedule
school science screen scroll search season second section security select sell send series serve service session setting share short should show side signal similar simple single site size slide small
social software solution sound source south space special speed sport staff stage standard start state station status step stock stop store story street strong student studio study style subject submit
success summer support surface switch system table target task teacher team technology template test text theme theory thing think third ticket time title today together topic total touch track trade
training transfer travel tree trial type under unit update upload user value vendor version video view visit voice wait walk wallet watch water weather website week weight welcome while white wide width
window winter within without woman word work world write year yellow young zone`)

func (c *corpus) word() string { return englishWords[c.r.IntN(len(englishWords))] }

func (c *corpus) camel(n int) string {
	var b strings.Builder
	for range n {
		w := c.word()
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

func (c *corpus) joined(n int, sep string) string {
	var w []string
	for range n {
		w = append(w, c.word())
	}
	return strings.Join(w, sep)
}

// lookalikes gives n texts without any secret.
func (c *corpus) lookalikes(n int) []string {
	out := make([]string, 0, n)
	for len(out) < n {
		var s string
		switch len(out) % 40 {
		case 0:
			s = "commit " + c.str(hexCh, 40)
		case 1:
			s = "sha256:" + c.str(hexCh, 64)
		case 2:
			s = fmt.Sprintf("id %s-%s-4%s-a%s-%s", c.str(hexCh, 8), c.str(hexCh, 4), c.str(hexCh, 3), c.str(hexCh, 3), c.str(hexCh, 12))
		case 3:
			s = `integrity="sha384-` + base64.StdEncoding.EncodeToString([]byte(c.str(alnum, 48))) + `"`
		case 4:
			s = "https://cdn.example.com/assets/" + c.str(alnum, 32) + "/main.js"
		case 5:
			s = "see https://example.com/d/" + c.str(wordCh, 44) + "/edit?usp=sharing for more"
		case 6:
			s = "<img src=data:image/png;base64," + c.str(alnum+"+/", 200) + ">"
		case 7:
			s = "Password: " + pick(c, "********", "••••••••", "xxxxxxxx", "(hidden)", "[redacted]", "<password>", "${DB_PASSWORD}", "{{password}}")
		case 8:
			s = "class " + c.camel(5+c.r.IntN(3)) + " extends " + c.camel(3)
		case 9:
			s = c.joined(6, "-") + " and " + c.joined(5, "_")
		case 10:
			s = "Forgot your password? Reset it here. Your password must have at least 8 characters."
		case 11:
			s = "password " + pick(c, "is required", "is incorrect", "was changed", "is too short", "has expired", "is not valid", "was reset yesterday")
		case 12:
			s = "Password: " + pick(c, "required", "incorrect", "changed", "must be at least 8 characters long", "forgotten?", "See the email we sent.", "never shared with anyone")
		case 13:
			s = "Order 4" + c.str(nums, 14) + " shipped" // 15 digits that begin like a card and are none
		case 14:
			s = "Phone +43 1 " + c.str(nums, 3) + " " + c.str(nums, 4) + ", IBAN AT61 1904 3002 3457 3201"
		case 15:
			s = "tracking 1Z" + c.str(upper+nums, 16)
		case 16:
			s = "const " + c.word() + "Token = await get" + c.camel(2) + "(" + c.word() + ");"
		case 17:
			s = "token: string; secret?: string; password: string; apiKey: string"
		case 18:
			s = "if (password === confirmPassword) { token = req.body.token; }"
		case 19:
			s = "password = os.environ[\"DB_PASSWORD\"]"
		case 20:
			s = "api_key = config.get('api_key')"
		case 21:
			s = "API key: YOUR_API_KEY_HERE, sk-your-api-key-goes-here"
		case 22:
			s = "2026-03-" + c.str("12", 1) + c.str(nums, 1) + "T10:" + c.str("12345", 1) + "0:00Z version 10." + c.str(nums, 2) + "." + c.str(nums, 3)
		case 23:
			s = "/usr/lib/" + c.joined(3, "/") + "/" + c.camel(3) + ".so." + c.str(nums, 2)
		case 24:
			s = "css-" + c.str(lower+nums, 8) + " " + c.joined(2, "__") + "--" + c.word() + " sc-" + c.str(lower+upper, 6)
		case 25:
			s = "meet.google.com/" + c.str(lower, 3) + "-" + c.str(lower, 4) + "-" + c.str(lower, 3) + " Meeting ID: " + c.str(nums, 3) + " " + c.str(nums, 4) + " " + c.str(nums, 4)
		case 26:
			s = "The secret of success is " + c.joined(4, " ") + ". The key is: work."
		case 27:
			s = "Token: " + pick(c, "expired", "invalid", "missing", "valid", "refreshed", "none") + ". Secret: " + pick(c, "none", "hidden", "not set")
		case 28:
			s = "pin: " + c.word() + "; pinned: true; spin: 12; compass: north; bypass: " + c.str(nums, 5)
		case 29:
			s = strings.ToUpper(c.joined(4, "_")) + "=" + c.word()
		case 30:
			s = "ISBN 978-3-16-" + c.str(nums, 6) + "-0, part no. " + c.str(upper, 3) + "-" + c.str(nums, 6)
		case 31:
			s = c.word() + "@" + c.joined(2, "") + ".example.com wrote: " + c.joined(8, " ")
		case 32:
			s = "#" + c.joined(4, "-") + " > ." + c.camel(4) + "[data-testid=\"" + c.joined(3, "-") + "\"]"
		case 33:
			s = "session_id column, sid, csrf token and cookies: we use cookies to " + c.joined(3, " ")
		case 34:
			s = "function " + strings.ToLower(c.word()) + c.camel(4) + "() { return " + c.camel(6) + "; }"
		case 35:
			s = "etag: \"" + c.str(hexCh, 32) + "\" x-request-id " + c.str(hexCh, 32)
		case 36:
			s = "Donaudampfschifffahrtsgesellschaft " + pick(c, "Rindfleischetikettierungsüberwachung", "Geschwindigkeitsbegrenzungen", "Bundesausbildungsförderungsgesetz")
		case 37:
			s = "https://example.com/search?q=" + c.joined(3, "+") + "&ved=2ahUKEwj" + c.str(wordCh, 40)
		case 38:
			s = "She said: the password to the club was friendship, and the code of conduct is online. Her pass: season ticket."
		case 39:
			s = c.joined(14, " ") + ". " + c.camel(1) + " " + c.joined(9, " ") + "."
		}
		out = append(out, s)
	}
	return out
}

// found tells whether a finding covers a secret, and whether anything beyond it was taken.
func covers(p planted, fs []Finding) bool {
	at := strings.Index(p.text, p.secret)
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Start <= at && f.End >= at+len(p.secret) })
}
