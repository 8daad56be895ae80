// node fetch.mjs
// ACME_KEY is the API key
// compared runs: 3 of 3 ok
const secret = process.env["ACME_KEY"];
if (!secret) throw new Error("ACME_KEY is not set");
const answer = await fetch("https://api.test/request", {
  method: "POST",
  headers: {
    Authorization: "Bearer " + secret,
    "Content-Type": "application/json",
  },
  body: Buffer.from('{"zone":"unlocker_demo","url":"https://shop.test/find?q=it\'s&x=\\"é\\"","format":"raw","method":"POST","headers":{"Content-Type":"application/json","X-It":"it\'s 100%, two"},"body":"{\\"name\\":\\"it\'s é\\"}","country":"de"}'),
  redirect: "manual",
  signal: AbortSignal.timeout(180000),
});
console.error(answer.status);
process.stdout.write(Buffer.from(await answer.arrayBuffer()));
