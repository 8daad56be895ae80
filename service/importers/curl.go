package importers

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
)

// call is what the options of a curl command say.
type call struct {
	out  *Imported
	urls []string

	method               string
	head, get, end       bool
	data                 []string
	sent, json           bool // there is data; it is JSON
	query                []string
	headers, proxyHeader []string
	proxy, proxyUser     string
	user                 string
	insecure, globoff    bool
	ca                   string
	timeout              time.Duration
	retries              int
}

// The first line of a pasted command, and where curl stands in it.
var (
	curlBegins = model.Pattern(`^((?:PS )?[A-Za-z]:\\[^>\n]*> ?)?([$&] )?(curl(\.exe)?[\s\\]|printf\s|echo\s|export\s|:\s|[A-Za-z_][A-Za-z0-9_]*=)`)
	curlStands = model.Pattern(`(^|[\n|;&(>])\s*(\$ )?([A-Za-z_][A-Za-z0-9_]*=\S*\s+)*curl(\.exe)?[\s\\]`)
)

// IsCurl reports whether a pasted text begins like a curl command, or like a script around
// one.
func IsCurl(text string) bool {
	text, _ = model.TrimMarks(text)
	for strings.HasPrefix(text, "#") { // a comment above it
		_, text, _ = strings.Cut(text, "\n")
		text = strings.TrimSpace(text)
	}
	return curlBegins().MatchString(text) && curlStands().MatchString(text)
}

// Curl reads a curl command with the quotes of its shell and the options of curl 8. It reads no files. A call of the
// service's API becomes its form, and so does one through its proxy. Errors wrap errImport.
func Curl(text string, known Known) (Imported, error) {
	c, err := readCurl(text, known.Columns)
	if err != nil {
		return Imported{}, err
	}
	c.out.Source = "curl"
	c.out.Request.Retries, c.out.Request.Timeout = c.retries, c.timeout
	if err := c.assemble(known); err != nil {
		return Imported{}, err
	}
	return *c.out, nil
}

// Login is the login that a curl command gives to its proxy, as model.ParseLogin reads
// one: host, port and username. Errors wrap errImport.
func Login(text string) (model.Login, error) {
	c, err := readCurl(text, false)
	if err != nil {
		return model.Login{}, err
	}
	l, ok := c.login()
	switch {
	case !ok && c.proxy == "":
		return model.Login{}, refuse("the command names no proxy")
	case !ok:
		return model.Login{}, refuse("the command gives its proxy no login that can be read")
	}
	return l.Login, nil
}

func readCurl(text string, columns bool) (*call, error) {
	if len(text) > maxText {
		return nil, refuse("it has %d bytes, more than %d", len(text), maxText)
	}
	out := &Imported{}
	trimmed, marks := model.TrimMarks(text)
	out.marks(marks)
	above, _, _ := strings.Cut(text, trimmed)
	text = strings.Repeat("\n", strings.Count(above, "\n")) + trimmed // the lines keep their numbers
	args, lines, err := readShell(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), out)
	if err != nil {
		return nil, err
	}
	if columns { // {{name}} stands for one, as a shell's variable does
		for i, word := range args {
			args[i] = model.ExpandVariables(word, func(name string) string { return markEnv + name + markEnv })
		}
	}
	c := &call{out: out, retries: -1}
	if err := c.options(args, lines); err != nil {
		return nil, err
	}
	if len(c.urls) == 0 {
		return nil, refuse("the command names no URL")
	}
	return c, nil
}

// ofPowerShell are the options of the command that PowerShell 5 calls curl.
var ofPowerShell = model.Pattern(`^(?i:-(uri|method|headers|body|contenttype|usebasicparsing|websession|useragent|outfile|infile|form))$`)

// options reads the words after curl. A refusal names the line of its word.
func (c *call) options(args []string, lines []uint) (err error) {
	only := false // addresses follow
	line := uint(0)
	defer func() {
		if err != nil {
			err = refuse("line %d: %s", line, strings.TrimPrefix(err.Error(), errImport.Error()+": "))
		}
	}()
	for len(args) > 0 && !c.end {
		word := args[0]
		line, args = lines[len(lines)-len(args)], args[1:]
		switch {
		case !only && ofPowerShell().MatchString(word):
			return refuse("%s is an option of PowerShell's own curl (Invoke-WebRequest), which is not read: write the command for curl.exe", word)
		case only || !strings.HasPrefix(word, "-") || word == "-":
			c.urls = append(c.urls, word)
		case word == "--":
			only = true
		case strings.HasPrefix(word, "--"):
			name := word[2:]
			if name, _, is := strings.Cut(name, "="); is {
				return refuse("curl takes no --%s=VALUE: the value is the next word", clean(name))
			}
			o, off, ok := longOption(name)
			if !ok {
				return refuse("curl has no option --%s", clean(name))
			}
			value := ""
			if o.value {
				if len(args) == 0 {
					return refuse("--%s needs a value", o.name)
				}
				value, args = args[0], args[1:]
			}
			if off {
				continue // as without it
			}
			if err := c.option(o.name, "--"+o.name, value); err != nil {
				return err
			}
		default:
			if args, err = c.cluster(word[1:], args); err != nil {
				return err
			}
		}
	}
	return nil
}

// cluster reads the letters of one word: the first that takes a value has the rest of it.
func (c *call) cluster(letters string, args []string) ([]string, error) {
	for i := range len(letters) {
		o, ok := shortOption(letters[i])
		if !ok {
			return nil, refuse("curl has no option -%s", clean(letters[i:i+1]))
		}
		spelled := "-" + letters[i:i+1]
		if !o.value {
			if err := c.option(o.name, spelled, ""); err != nil {
				return nil, err
			}
			continue
		}
		value := letters[i+1:]
		if value == "" {
			if len(args) == 0 {
				return nil, refuse("%s needs a value", spelled)
			}
			value, args = args[0], args[1:]
		}
		return args, c.option(o.name, spelled, value)
	}
	return args, nil
}

// clean is the name of an option that curl does not have, as far as it can be one: it may
// be anything that was pasted.
func clean(name string) string {
	i := strings.IndexFunc(name, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-", r) })
	if i >= 0 || len(name) > 30 {
		return "…"
	}
	return name
}

// option takes one option; spelled is how it was written.
func (c *call) option(name, spelled, value string) error {
	switch name {
	case "url":
		c.urls = append(c.urls, value)
	case "next":
		c.out.dropped("what follows %s, another transfer, was not read", spelled)
		c.end = true
	case "request":
		c.method = value
	case "globoff":
		c.globoff = true
	case "head":
		c.head = true
	case "get":
		c.get = true
	case "data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json", "url-query":
		return c.addData(name, spelled, value)
	case "header", "proxy-header":
		return c.addHeader(name, spelled, value)
	case "user-agent":
		c.headers = append(c.headers, "User-Agent: "+value)
	case "referer":
		c.headers = append(c.headers, "Referer: "+strings.TrimSuffix(value, ";auto"))
	case "range":
		c.headers = append(c.headers, "Range: bytes="+value)
	case "oauth2-bearer":
		c.headers = append(c.headers, "Authorization: Bearer "+value)
	case "cookie":
		if value != "" && !strings.Contains(value, "=") && !strings.Contains(value, markEnv) {
			return noFile(spelled)
		}
		c.headers = append(c.headers, "Cookie: "+value)
	case "proxy":
		c.proxy = value
	case "proxy-user":
		c.proxyUser = value
	case "user":
		c.user = spelled
	case "insecure":
		c.insecure = true
	case "cacert":
		c.ca = value
	case "max-time", "retry":
		c.limit(name, spelled, value)
	case "config", "upload-file", "netrc", "netrc-file", "netrc-optional", "etag-compare", "cert", "key":
		return noFile(spelled)
	case "continue-at", "time-cond", "tr-encoding", "request-target", "digest", "ntlm", "ntlm-wb", "negotiate", "aws-sigv4":
		return refuse("%s sends a header or an address that the form cannot make: write it by -H, or leave it out", spelled)
	case "form", "form-string":
		return refuse("%s makes a multipart body, which is not written: give it whole, by --data-binary and its Content-Type", spelled)
	case "location", "location-trusted", "follow":
		c.out.dropped("%s: redirects are shown, not followed", spelled)
	default:
		if !slices.Contains(strings.Fields(unsent), name) {
			c.out.dropped("%s: the form has no field for it", spelled)
		}
	}
	return nil
}

// limit takes how long, and how often.
func (c *call) limit(name, spelled, value string) {
	if name == "retry" {
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n <= 100 {
			c.retries = n
			return
		}
		c.out.dropped("%s: its value is not a number of tries", spelled)
		return
	}
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s <= 24*60*60 {
		c.timeout = time.Duration(s * float64(time.Second)).Round(time.Millisecond)
		return
	}
	c.out.dropped("%s: its value is not a number of seconds", spelled)
}

// noFile refuses an option whose value is in a file, or in what a pipe gives.
func noFile(spelled string) error {
	return refuse("%s names a file, and a command that is pasted reads no files: put the text itself into the command", spelled)
}

// addData takes one of the options that make the body, or the query.
func (c *call) addData(name, spelled, value string) error {
	text, known := value, true
	switch {
	case name == "data-raw":
	case name == "data-urlencode" || name == "url-query" && !strings.HasPrefix(value, "+"):
		text, known = urlEncoded(value)
	case name == "url-query":
		text = value[1:]
	case strings.HasPrefix(value, "@"):
		known = false
	}
	if !known {
		return noFile(spelled)
	}
	if name == "url-query" {
		c.query = append(c.query, text)
		return nil
	}
	c.sent = true
	if name == "json" {
		c.json = true
		if len(c.data) > 0 { // curl joins them without a "&"
			c.data[len(c.data)-1] += text
			return nil
		}
	}
	c.data = append(c.data, text)
	return nil
}

// urlEncoded is a value of --data-urlencode: content, =content, name=content. What names a
// file is not known.
func urlEncoded(value string) (string, bool) {
	at := strings.IndexAny(value, "=@")
	switch {
	case at < 0:
		return escape(value), true
	case value[at] == '@':
		return "", false
	case at == 0:
		return escape(value[1:]), true
	}
	return value[:at+1] + escape(value[at+1:]), true
}

// escape escapes a text for a query, but for the variables in it.
func escape(text string) string {
	parts := strings.Split(text, markEnv)
	for i := range parts {
		if i%2 == 0 {
			parts[i] = url.QueryEscape(parts[i])
		}
	}
	return strings.Join(parts, markEnv)
}

// addHeader takes a header. What a pipe gives is the key or the login of a command that this console exports.
func (c *call) addHeader(name, spelled, value string) error {
	switch {
	case value == "@-" && c.out.pipedLogin:
	case strings.HasPrefix(value, "@"):
		return noFile(spelled)
	case name == "proxy-header":
		if n, _ := header(value); !strings.EqualFold(n, "Proxy-Authorization") {
			c.out.dropped("%s: the proxy gets no header but its login", spelled)
		}
		c.proxyHeader = append(c.proxyHeader, value)
	default:
		c.headers = append(c.headers, value)
	}
	return nil
}

// curlOptions are the options of curl 8: the name, "=" if a value follows, and the letter.
const curlOptions = `
abstract-unix-socket= alt-svc= anyauth append:a aws-sigv4= basic cacert= ca-native capath= cert=:E cert-status
cert-type= ciphers= compressed compressed-ssh config=:K connect-timeout= connect-to= continue-at=:C cookie=:b
cookie-jar=:c create-dirs create-file-mode= crlf crlfile= curves= data=:d data-ascii= data-binary= data-raw=
data-urlencode= delegation= digest disable:q disable-eprt disable-epsv disallow-username-in-url
dns-interface= dns-ipv4-addr= dns-ipv6-addr= dns-servers= doh-cert-status doh-insecure doh-url= dump-ca-embed
dump-header=:D ech= egd-file= engine= etag-compare= etag-save= expect100-timeout= fail:f fail-early fail-with-body
false-start follow form=:F form-escape form-string= ftp-account= ftp-alternative-to-user= ftp-create-dirs
ftp-method= ftp-pasv ftp-port=:P ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-ccc-mode= ftp-ssl-control
get:G globoff:g happy-eyeballs-timeout-ms= haproxy-clientip= haproxy-protocol head:I header=:H help=:h hostpubmd5=
hostpubsha256= hsts= http0.9 http1.0:0 http1.1 http2 http2-prior-knowledge http3 http3-only
ignore-content-length include:i insecure:k interface= ip-tos= ipfs-gateway= ipv4:4 ipv6:6 json= junk-session-cookies:j
keepalive-cnt= keepalive-time= key= key-type= knownhosts= krb= libcurl= limit-rate= list-only:l local-port= location:L
location-trusted login-options= mail-auth= mail-from= mail-rcpt= mail-rcpt-allowfails manual:M max-filesize= max-redirs=
max-time=:m metalink mptcp negotiate netrc:n netrc-file= netrc-optional next:: no-alpn no-buffer:N no-clobber
no-keepalive no-npn no-progress-meter no-sessionid noproxy= ntlm ntlm-wb oauth2-bearer= out-null output=:o output-dir=
parallel:Z parallel-immediate parallel-max= parallel-max-host= pass= path-as-is pinnedpubkey= post301 post302 post303
preproxy= progress-bar:# proto= proto-default= proto-redir= proxy=:x proxy-anyauth proxy-basic proxy-ca-native
proxy-cacert= proxy-capath= proxy-cert= proxy-cert-type= proxy-ciphers= proxy-crlfile= proxy-digest proxy-header=
proxy-http2 proxy-insecure proxy-key= proxy-key-type= proxy-negotiate proxy-ntlm proxy-pass= proxy-pinnedpubkey=
proxy-service-name= proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tls13-ciphers= proxy-tlsauthtype=
proxy-tlspassword= proxy-tlsuser= proxy-tlsv1 proxy-user=:U proxy1.0= proxytunnel:p pubkey= quote=:Q
random-file= range=:r rate= raw referer=:e remote-header-name:J remote-name:O remote-name-all remote-time:R
remove-on-error request=:X request-target= resolve= retry= retry-all-errors retry-connrefused retry-delay=
retry-max-time= sasl-authzid= sasl-ir service-name= show-error:S show-headers sigalgs= silent:s skip-existing socks4=
socks4a= socks5= socks5-basic socks5-gssapi socks5-gssapi-nec socks5-gssapi-service= socks5-hostname= speed-limit=:Y
speed-time=:y ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort ssl-sessions= sslv2:2
sslv3:3 stderr= styled-output suppress-connect-headers tcp-fastopen tcp-nodelay telnet-option=:t
tftp-blksize= tftp-no-options time-cond=:z tls-earlydata tls-max= tls13-ciphers= tlsauthtype= tlspassword= tlsuser=
tlsv1:1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace= trace-ascii= trace-config= trace-ids trace-time unix-socket=
upload-file=:T upload-flags= url= url-query= use-ascii:B user=:u user-agent=:A variable= verbose:v version:V
vlan-priority= write-out=:w xattr`

// curlOption is one option of curl.
type curlOption struct {
	name  string
	value bool // one follows
}

// longOption finds an option by its name, or by the beginning of only one name. A leading
// "no-" switches one without a value off.
func longOption(name string) (o curlOption, off, ok bool) {
	var begins []curlOption
	bare, negated := strings.CutPrefix(name, "no-")
	for word := range strings.FieldsSeq(curlOptions) {
		o := optionOf(word)
		switch {
		case o.name == name:
			return o, false, true
		case negated && o.name == bare && !o.value:
			return o, true, true
		case strings.HasPrefix(o.name, name):
			begins = append(begins, o)
		}
	}
	if name != "" && len(begins) == 1 {
		return begins[0], false, true
	}
	return curlOption{}, false, false
}

// shortOption finds an option by its letter.
func shortOption(letter byte) (curlOption, bool) {
	for word := range strings.FieldsSeq(curlOptions) {
		if n := len(word); n > 2 && word[n-2] == ':' && word[n-1] == letter {
			return optionOf(word), true
		}
	}
	return curlOption{}, false
}

func optionOf(word string) curlOption {
	name, _, _ := strings.Cut(word, ":")
	name, value := strings.CutSuffix(name, "=")
	return curlOption{name: name, value: value}
}

// unsent are options about what curl prints, keeps or asks of the network: the request
// they stand at is the same without them.
const unsent = ` silent show-error verbose output remote-name remote-name-all remote-header-name remote-time output-dir
create-dirs include show-headers fail fail-early fail-with-body write-out progress-bar no-progress-meter styled-output
no-buffer stderr trace trace-ascii trace-time trace-ids trace-config dump-header globoff disable xattr raw libcurl
suppress-connect-headers parallel parallel-immediate parallel-max connect-timeout limit-rate path-as-is keepalive-time
tcp-nodelay tcp-fastopen no-keepalive no-clobber remove-on-error basic proxy-basic proxy-anyauth proxytunnel out-null
noproxy http1.1 create-file-mode skip-existing etag-save cookie-jar compressed `
