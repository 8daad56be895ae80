// The browser asks for the login, which a PAC file cannot hold:
//   username  brd-customer-hl_demo01-zone-unlocker_demo-country-de
//   password  the password of zone unlocker_demo
// It must trust the authority in /etc/service ca.pem
function FindProxyForURL(url, host) {
  return "PROXY proxy.test:33335";
}
