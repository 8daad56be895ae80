not exported: PAC: the API needs no proxy: choose Native
