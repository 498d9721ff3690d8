# The few nixpkgs `lib` functions that the project's flake uses, with nixpkgs' semantics.
let
  b = builtins;
in rec {
  inherit (b) attrNames attrValues concatLists concatMap concatStringsSep elem elemAt filter foldl' genList
    hasAttr head isAttrs isFunction isList isString length listToAttrs map mapAttrs match readFile removeAttrs
    replaceStrings stringLength substring tail toJSON;
  version = "0-host-shim";
  any = b.any;
  id = x: x;
  const = x: _: x;
  flip = f: x: y: f y x;
  nameValuePair = name: value: { inherit name value; };
  optional = c: x: if c then [ x ] else [ ];
  optionals = c: xs: if c then xs else [ ];
  optionalString = c: s: if c then s else "";
  optionalAttrs = c: a: if c then a else { };
  genAttrs = names: f: listToAttrs (map (n: nameValuePair n (f n)) names);
  mapAttrs' = f: s: listToAttrs (map (n: f n s.${n}) (attrNames s));
  mapAttrsToList = f: s: map (n: f n s.${n}) (attrNames s);
  filterAttrs = p: s: listToAttrs (filter (nv: p nv.name nv.value) (mapAttrsToList nameValuePair s));
  hasPrefix = p: s: substring 0 (stringLength p) s == p;
  hasSuffix = x: s: let n = stringLength s; k = stringLength x; in n >= k && substring (n - k) k s == x;
  removePrefix = p: s: if hasPrefix p s then substring (stringLength p) (-1) s else s;
  removeSuffix = x: s: if hasSuffix x s then substring 0 (stringLength s - stringLength x) s else s;
  concatMapStringsSep = sep: f: xs: concatStringsSep sep (map f xs);
  concatMapStrings = concatMapStringsSep "";
  concatStrings = concatStringsSep "";
  escapeShellArg = a: "'${replaceStrings [ "'" ] [ "'\\''" ] (toString a)}'";
  escapeShellArgs = concatMapStringsSep " " escapeShellArg;
  toString = b.toString;
  makeSearchPath = sub: ps: concatStringsSep ":" (map (p: "${p}/${sub}") (filter (p: p != null) ps));
  makeBinPath = makeSearchPath "bin";
  makeLibraryPath = makeSearchPath "lib";
  getExe' = p: n: "${p}/bin/${n}";
  getExe = p: getExe' p (p.meta.mainProgram or p.pname or p.name);
  versionAtLeast = a: c: b.compareVersions a c >= 0;
  cleanSourceWith = { src, filter ? _: _: true, name ? "source" }: b.path { inherit filter name; path = src; };
  licenses = {
    mit = { spdxId = "MIT"; free = true; shortName = "mit"; };
    asl20 = { spdxId = "Apache-2.0"; free = true; shortName = "asl20"; };
  };
  platforms.linux = [ "x86_64-linux" ];
}
