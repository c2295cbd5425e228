package wire

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Plugins that this client can play.
const (
	pluginNative = "mysql_native_password"
	pluginSHA2   = "caching_sha2_password"
	pluginSocket = "unix_socket" // MariaDB: the kernel has said who we are
	pluginPeer   = "auth_socket" // the same in MySQL
)

// What caching_sha2_password says after our first move.
const (
	sha2Known  = 3 // the server had the password's digest in its cache
	sha2Wanted = 4 // it had not, and wants the password itself
	sha2Key    = 2 // our request for its public key
)

const (
	maxRounds  = 16        // of one authentication
	maxKeyBits = 16 * 1024 // of a server's RSA key
)

// authenticate logs in, in as many rounds as the account's plugin takes.
func (c *Conn) authenticate(o Options) error {
	a := auth{plugin: c.hello.plugin, salt: c.hello.salt, password: o.Password,
		private: c.tls != nil || o.Network == "unix"}
	move, err := a.first()
	if err != nil {
		// The server's default plugin need not be the account's: it asks for another then.
		a.plugin = pluginNative
		if move, err = a.first(); err != nil {
			return err
		}
	}
	c.reply(c.login(o, a.plugin, move))
	for range maxRounds {
		b, err := c.readPacket(maxReply)
		if err != nil {
			return fmt.Errorf("log in: %w", err)
		}
		move, more, err := a.answer(b)
		if err != nil {
			return err
		}
		if !more {
			_, _, err := parseOK(b)
			return err
		}
		if move != nil {
			c.reply(move)
		}
	}
	return &ProtocolError{"an end of authentication", fmt.Sprint(maxRounds, " rounds")}
}

// auth is one authentication under way.
type auth struct {
	plugin   string
	salt     []byte
	password string
	private  bool // nobody can listen: the password may be sent as it is
	asked    bool // for the server's public key
}

// first is the first move of the plugin.
func (a *auth) first() ([]byte, error) {
	switch a.plugin {
	case pluginNative, "":
		return scrambleNative(a.password, a.salt), nil
	case pluginSHA2:
		return scrambleSHA2(a.password, a.salt), nil
	case pluginSocket, pluginPeer:
		return []byte{}, nil
	}
	return nil, fmt.Errorf("the account's authentication plugin %q is not supported: give it %s or %s",
		clip(a.plugin, 64), pluginNative, pluginSHA2)
}

// answer is what to say to packet b: nothing if nil. more means that the server has not
// let us in yet.
func (a *auth) answer(b []byte) (move []byte, more bool, err error) {
	if len(b) == 0 {
		return nil, false, malformed("an answer to the login", b)
	}
	switch b[0] {
	case headOK:
		return nil, false, nil
	case headError:
		return nil, false, serverError(b, "")
	case headEOF:
		move, err = a.change(b[1:])
	case headMore:
		move, err = a.proceed(b[1:])
	case headFactor:
		err = errors.New("the account wants a second authentication factor, which is not supported")
	default:
		err = malformed("an answer to the login", b)
	}
	return move, true, err
}

// change begins again with the plugin that the server names.
func (a *auth) change(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("the account has a password of MySQL 4.0, which is not supported: set it anew")
	}
	name, salt, ok := bytes.Cut(b, []byte{0})
	if !ok {
		return nil, malformed("the name of an authentication plugin", b)
	}
	a.plugin, a.salt = string(name), bytes.TrimSuffix(bytes.Clone(salt), []byte{0})
	move, err := a.first()
	if move == nil {
		move = []byte{} // an empty password is an empty packet
	}
	return move, err
}

// proceed answers what a plugin says after the first move.
func (a *auth) proceed(b []byte) ([]byte, error) {
	switch {
	case a.plugin != pluginSHA2:
		return nil, malformed("no more of "+a.plugin, b)
	case a.asked:
		return encrypt(a.password, a.salt, b)
	case len(b) == 1 && b[0] == sha2Known:
		return nil, nil
	case len(b) == 1 && b[0] == sha2Wanted && a.private:
		return append([]byte(a.password), 0), nil
	case len(b) == 1 && b[0] == sha2Wanted:
		a.asked = true
		return []byte{sha2Key}, nil
	}
	return nil, malformed("a step of "+pluginSHA2, b)
}

// scrambleNative proves knowledge of a password: SHA1(p) xor SHA1(salt, SHA1(SHA1(p))).
func scrambleNative(password string, salt []byte) []byte {
	if password == "" {
		return nil
	}
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	mask := sha1.Sum(append(bytes.Clone(salt), twice[:]...))
	subtle.XORBytes(mask[:], mask[:], once[:])
	return mask[:]
}

// scrambleSHA2 proves it likewise: SHA256(p) xor SHA256(SHA256(SHA256(p)), salt).
func scrambleSHA2(password string, salt []byte) []byte {
	if password == "" {
		return nil
	}
	once := sha256.Sum256([]byte(password))
	twice := sha256.Sum256(once[:])
	mask := sha256.Sum256(append(twice[:], salt...))
	subtle.XORBytes(mask[:], mask[:], once[:])
	return mask[:]
}

// encrypt hides the password from listeners with the server's RSA key. It does not prove
// that the server is the one that was meant; only TLS can.
func encrypt(password string, salt, key []byte) ([]byte, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, malformed("a public key in PEM", key)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the server's public key: %w", err)
	}
	public, ok := parsed.(*rsa.PublicKey)
	if !ok || public.N.BitLen() > maxKeyBits {
		return nil, &ProtocolError{fmt.Sprintf("an RSA key of at most %d bits", maxKeyBits), fmt.Sprintf("%T", parsed)}
	}
	if len(salt) == 0 {
		return nil, &ProtocolError{"a salt", "none"}
	}
	plain := append([]byte(password), 0)
	for i := range plain {
		plain[i] ^= salt[i%len(salt)]
	}
	move, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, public, plain, nil)
	if err != nil {
		return nil, fmt.Errorf("encrypt the password for the server: %w", err)
	}
	return move, nil
}
